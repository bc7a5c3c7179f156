package sim

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// millionths is the total of the progress of many runs.
const millionths = 1_000_000

// many is a number of runs that have nothing to do with each other, and so are computed on all cores.
type many[T any] struct {
	n        int
	weight   func(i int) float64         // how much work a run is; nil is the same for all
	progress func(done, total int64)     // may be nil; it is called on the goroutine of run
	worker   func() func(one) (T, error) // returns what computes runs one after the other, with memory of its own
	merge    func(i int, result T)       // takes the results in the order of their runs, on the goroutine of run
}

// one is a run to compute.
type one struct {
	ctx      context.Context
	i        int
	progress func(done, total int64) // of this run
}

// grain is how many runs are handed out and back at once.
const grain = 4

// computed are the results of neighbouring runs, up to the first error.
type computed[T any] struct {
	from    int
	results []T
	err     error
}

// run computes the runs and merges their results: all those before the first whose error it returns. So what comes of it
// does not depend on the number of cores. A panic in a worker passes through.
func (m many[T]) run(ctx context.Context) error {
	if m.n == 0 {
		return nil
	}
	workers := min(runtime.GOMAXPROCS(0), (m.n+grain-1)/grain)
	var (
		wg       sync.WaitGroup
		next     atomic.Int64                         // the first run that nobody computes yet
		last     atomic.Int64                         // no run from here on is needed
		out      = make(chan computed[T], workers)    // results
		woken    = make(chan struct{}, 1)             // there is progress to report
		current  = make([]atomic.Uint64, workers)     // the progress of each worker's run, as a float64 of its weight
		panicked = make(chan any, workers)            // what workers have panicked with
		weight   = func(i int) float64 { return 1.0 } // of a run
		total    float64
	)
	if m.weight != nil {
		weight = m.weight
	}
	for i := range m.n {
		total += weight(i)
	}
	last.Store(int64(m.n))
	for w := range workers {
		wg.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					last.Store(0)
					panicked <- p
				}
			}()
			compute := m.worker()
			for {
				from := next.Add(grain) - grain
				if from >= last.Load() {
					return
				}
				c := computed[T]{from: int(from)}
				for i := int(from); i < min(int(from)+grain, m.n) && c.err == nil; i++ {
					r := one{ctx: ctx, i: i}
					if m.progress != nil {
						r.progress = func(done, total int64) {
							current[w].Store(math.Float64bits(weight(i) * float64(done) / float64(max(total, 1))))
							select {
							case woken <- struct{}{}:
							default:
							}
						}
					}
					var result T
					if result, c.err = compute(r); c.err == nil {
						c.results = append(c.results, result)
					}
				}
				for c.err != nil {
					if old := last.Load(); old <= from || last.CompareAndSwap(old, from) {
						break
					}
				}
				current[w].Store(0)
				out <- c
			}
		})
	}
	go func() {
		wg.Wait()
		close(out)
	}()
	var (
		waiting  = map[int]computed[T]{}
		merged   int
		done     float64
		reported int64
		err      error
	)
	report := func() {
		if m.progress == nil {
			return
		}
		now := done
		for w := range current {
			now += math.Float64frombits(current[w].Load())
		}
		if part := int64(now / total * millionths); part >= reported+millionths/1000 && part < millionths {
			reported = part
			m.progress(part, millionths)
		}
	}
	for open := true; open; {
		select {
		case <-woken:
			report()
			continue
		case c, ok := <-out:
			if open = ok; !ok {
				continue
			}
			for i := range c.results {
				done += weight(c.from + i)
			}
			waiting[c.from] = c
		}
		for c, ok := waiting[merged]; ok && err == nil; c, ok = waiting[merged] {
			delete(waiting, merged)
			for i, result := range c.results {
				m.merge(c.from+i, result)
			}
			err = c.err
			merged += grain
		}
		report()
	}
	select {
	case p := <-panicked:
		panic(p)
	default:
	}
	if err == nil && merged < m.n { // a worker's goroutine has ended by Goexit
		runtime.Goexit()
	}
	if err == nil && reported > 0 {
		m.progress(millionths, millionths)
	}
	return err
}

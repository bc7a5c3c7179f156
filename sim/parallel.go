package sim

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// millionths is the total that many reports to progress.
const millionths = 1_000_000

// many is a number of independent runs, which are computed on all cores.
type many[T any] struct {
	n        int
	weight   func(i int) float64     // the work of run i; nil is the same for all
	progress func(done, total int64) // may be nil; called on the goroutine of run
	worker   func() computation[T]   // returns a function with memory of its own that computes runs, one after the other
	merge    func(i int, result T)   // called with the results in the order of their runs, on the goroutine of run
}

// computation computes run i.
type computation[T any] = func(ctx context.Context, i int) (T, error)

// grain is the number of runs that a worker takes at once.
const grain = 4

// computed holds the results of neighbouring runs, up to the first error.
type computed[T any] struct {
	from    int
	results []T
	err     error
}

// pool is a running many.
type pool[T any] struct {
	many[T]
	ctx      context.Context
	next     atomic.Int64     // the first run that no worker has taken yet
	last     atomic.Int64     // runs from here on are not needed
	out      chan computed[T] // results of workers
	panicked chan any         // values of panics in workers

	total, done float64 // the work of all runs, and of the runs that are computed
	reported    int64
}

// run computes the runs and merges their results, in order, up to the first run with an error. It returns that error.
// So the result does not depend on the number of cores. A panic in a worker becomes a panic of run.
func (m many[T]) run(ctx context.Context) error {
	if m.n == 0 {
		return nil
	}
	if m.weight == nil {
		m.weight = func(int) float64 { return 1 }
	}
	workers := min(runtime.GOMAXPROCS(0), (m.n+grain-1)/grain)
	p := &pool[T]{many: m, ctx: ctx, out: make(chan computed[T], workers), panicked: make(chan any, workers)}
	for i := range m.n {
		p.total += m.weight(i)
	}
	p.last.Store(int64(m.n))
	var wg sync.WaitGroup
	for range workers {
		wg.Go(p.work)
	}
	go func() {
		wg.Wait()
		close(p.out)
	}()
	return p.collect()
}

// work is a worker: it computes runs until none is left or needed.
func (p *pool[T]) work() {
	defer func() {
		if v := recover(); v != nil {
			p.last.Store(0)
			p.panicked <- v
		}
	}()
	compute := p.worker()
	for {
		from := p.next.Add(grain) - grain
		if from >= p.last.Load() {
			return
		}
		c := computed[T]{from: int(from)}
		for i := c.from; i < min(c.from+grain, p.n) && c.err == nil; i++ {
			var result T
			if result, c.err = compute(p.ctx, i); c.err == nil {
				c.results = append(c.results, result)
			}
		}
		for old := p.last.Load(); c.err != nil && from < old && !p.last.CompareAndSwap(old, from); {
			old = p.last.Load()
		}
		p.out <- c
	}
}

// collect merges the workers' results in the order of the runs.
func (p *pool[T]) collect() error {
	defer func() { // after a panic in progress the workers still have results to send
		p.last.Store(0)
		for range p.out {
		}
	}()
	waiting := map[int]computed[T]{}
	merged := 0
	var err error
	for c := range p.out {
		for i := range c.results {
			p.done += p.weight(c.from + i)
		}
		p.report()
		waiting[c.from] = c
		for c, ok := waiting[merged]; ok && err == nil; c, ok = waiting[merged] {
			delete(waiting, merged)
			for i, result := range c.results {
				p.merge(c.from+i, result)
			}
			err = c.err
			merged += grain
		}
	}
	select {
	case v := <-p.panicked:
		panic(v)
	default:
	}
	if err == nil && merged < p.n { // a worker has called runtime.Goexit
		runtime.Goexit()
	}
	if err == nil && p.reported > 0 {
		p.progress(millionths, millionths)
	}
	return err
}

// report reports the progress if it has grown by a thousandth.
func (p *pool[T]) report() {
	if p.progress == nil {
		return
	}
	if part := int64(p.done / p.total * millionths); part >= p.reported+millionths/1000 && part < millionths {
		p.reported = part
		p.progress(part, millionths)
	}
}

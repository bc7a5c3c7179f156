// Package waiting measures many items that wait at once, each for its own delay: the memory of a waiting item, and how
// late it continues.
package waiting

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// sizes are the numbers of items, and when the first of them is due: late enough that on most machines all are waiting
// by then.
var sizes = []struct {
	items int
	after time.Duration
}{
	{10_000, 300 * time.Millisecond},
	{100_000, 700 * time.Millisecond},
	{1_000_000, 4 * time.Second},
}

// spread is the time between the first and the last due item: a delay is between after and after+spread. So the
// benchmark measures the waiting and not the herd at its end.
func spread(items int) time.Duration { return time.Duration(items) * 4 * time.Microsecond }

// job is items that fail once, wait, and are done.
type job struct {
	due   []time.Duration // when each item is due, since began
	late  []time.Duration // how much later it continued
	wait  []time.Duration
	put   sync.WaitGroup // until all are waiting
	began time.Time
}

func newJob(items int, after time.Duration) *job {
	j := &job{
		due:  make([]time.Duration, items),
		late: make([]time.Duration, items),
		wait: make([]time.Duration, items),
	}
	for i := range j.wait {
		j.wait[i] = after + rand.N(spread(items))
	}
	j.put.Add(items)
	j.began = time.Now()
	return j
}

// fail records that item i has failed, and returns its delay.
func (j *job) fail(i int) time.Duration {
	j.due[i] = time.Since(j.began) + j.wait[i]
	j.put.Done()
	return j.wait[i]
}

// back records that item i continues.
func (j *job) back(i int) { j.late[i] = time.Since(j.began) - j.due[i] }

var ways = []struct {
	name string
	run  func(context.Context, *job) error // returns when every item has continued
}{
	{"goroutine", goroutines},
	{"AfterFunc", afterFuncs},
	{"MapRetry", mapRetry},
}

// goroutines starts a goroutine for each item, which waits in a select like the usual retry loop.
func goroutines(ctx context.Context, j *job) error {
	var wg sync.WaitGroup
	for i := range j.wait {
		wg.Go(func() {
			timer := time.NewTimer(j.fail(i))
			defer timer.Stop()
			select {
			case <-timer.C:
				j.back(i)
			case <-ctx.Done():
			}
		})
	}
	wg.Wait()
	return ctx.Err()
}

// afterFuncs arms a timer for each item.
func afterFuncs(_ context.Context, j *job) error {
	var wg sync.WaitGroup
	wg.Add(len(j.wait))
	for i := range j.wait {
		time.AfterFunc(j.fail(i), func() {
			j.back(i)
			wg.Done()
		})
	}
	wg.Wait()
	return nil
}

var errBusy = errors.New("busy")

// mapRetry is this library: the error of the first call dictates the delay of its item.
func mapRetry(ctx context.Context, j *job) error {
	called := make([]bool, len(j.wait))
	s := operators.MapRetry(stream.Range(0, len(j.wait)), policy, func(_ context.Context, i int) (int, error) {
		if !called[i] {
			called[i] = true
			return 0, retry.RetryAfter(errBusy, j.fail(i))
		}
		j.back(i)
		return i, nil
	}, operators.MapRetryOptions[int]{MaxPending: len(j.wait)})
	return s.ForEach(ctx, func(int) {})
}

var policy = retry.New(backoff.Constant(time.Second), retry.Limit(1))

func TestEveryItemComesBackAndNoneTooEarly(t *testing.T) {
	for _, w := range ways {
		j := newJob(1000, 10*time.Millisecond)
		if err := w.run(t.Context(), j); err != nil {
			t.Errorf("%s: %v", w.name, err)
		}
		for i, late := range j.late {
			if j.due[i] == 0 || late < 0 {
				t.Errorf("%s: item %d was due after %v and came back %v late", w.name, i, j.due[i], late)
			}
		}
	}
}

// BenchmarkWaiting: an op is the whole job. Its duration is given; the results are B/item and the lateness.
func BenchmarkWaiting(b *testing.B) {
	for _, size := range sizes {
		if testing.Short() && size.items > 100_000 {
			continue
		}
		for _, w := range ways {
			b.Run(fmt.Sprintf("%s/items=%d", w.name, size.items), func(b *testing.B) {
				for b.Loop() {
					after := size.after
					for !measure(b, w.run, size.items, after) {
						after *= 2
					}
				}
				b.ReportMetric(0, "ns/op")
			})
		}
	}
}

// measure reports its results. It returns false if some items were due before all were waiting.
func measure(b *testing.B, run func(context.Context, *job) error, items int, after time.Duration) bool {
	before := inUse()
	j := newJob(items, after)
	own := float64(items * 3 * 8) // the job's slices do not count
	held := make(chan float64, 1)
	go func() {
		j.put.Wait()
		now := float64(inUse())
		if time.Since(j.began) > after {
			now = math.NaN()
		}
		held <- now
	}()
	if err := run(b.Context(), j); err != nil {
		b.Fatal(err)
	}
	bytes := <-held - float64(before) - own
	if math.IsNaN(bytes) {
		return false
	}
	slices.Sort(j.late)
	b.ReportMetric(bytes/float64(items), "B/item")
	b.ReportMetric(float64(j.late[items/2])/1e6, "ms-late-p50")
	b.ReportMetric(float64(j.late[items*99/100])/1e6, "ms-late-p99")
	return true
}

// inUse returns the bytes of heap and stacks in use.
func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

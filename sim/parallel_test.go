package sim

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// onCores runs f with GOMAXPROCS set to n.
func onCores(t *testing.T, n int, f func()) {
	t.Helper()
	before := runtime.GOMAXPROCS(n)
	defer runtime.GOMAXPROCS(before)
	f()
}

func TestResultsDoNotDependOnTheCores(t *testing.T) {
	var want []string
	for _, cores := range []int{1, 2, 7} {
		onCores(t, cores, func() {
			sweep, err := Sweep{Strategies: classics(), Clients: []int{3, 20}, Runs: 21, Network: DefaultNetwork}.Run(t.Context())
			must(t, err)
			comparison, err := Comparison{Strategies: classics()[1:3], Jobs: 10, Retries: 3, Runs: 13, PeakWindow: time.Second, DeadWindow: time.Second}.Run(t.Context())
			must(t, err)
			got := []string{marshal(t, sweep), marshal(t, comparison)}
			if want == nil {
				want = got
			} else if !slices.Equal(got, want) {
				t.Errorf("on %d cores it is\n%s\nwant\n%s", cores, got, want)
			}
		})
	}
}

// All results before the first error are merged, in order, on any number of cores.
func TestManyStopsAtTheFirstError(t *testing.T) {
	for _, cores := range []int{1, 4} {
		for _, bad := range []int{0, 1, 5, 50, 99} {
			onCores(t, cores, func() {
				var merged []int
				err := many[int]{
					n: 100,
					worker: func() computation[int] {
						return func(_ context.Context, i int) (int, error) {
							if i >= bad {
								return 0, fmt.Errorf("run %d", i)
							}
							return i, nil
						}
					},
					merge: func(i, result int) { merged = append(merged, i, result) },
				}.run(t.Context())
				want := []int{}
				for i := range bad {
					want = append(want, i, i)
				}
				if err == nil || err.Error() != fmt.Sprint("run ", bad) || !slices.Equal(merged, want) {
					t.Errorf("%d cores, run %d fails: %v, merged %v", cores, bad, err, merged)
				}
			})
		}
	}
}

// Progress measures the work: a run with nine tenths of the work counts as nine tenths.
func TestManyReportsWork(t *testing.T) {
	var reports []int64
	var computed atomic.Int64
	err := many[int]{
		n: 2 * grain, weight: func(i int) float64 { return map[bool]float64{true: 9, false: 1}[i < grain] },
		progress: func(done, total int64) {
			if total != millionths {
				t.Errorf("total is %d", total)
			}
			reports = append(reports, done)
		},
		worker: func() computation[int] {
			return func(context.Context, int) (int, error) { computed.Add(1); return 0, nil }
		},
		merge: func(int, int) {},
	}.run(t.Context())
	if err != nil || computed.Load() != 2*grain || !slices.IsSorted(reports) || reports[len(reports)-1] != millionths {
		t.Errorf("%v, reports of %v", err, reports)
	}
	if !slices.Contains(reports, 900_000) && !slices.Contains(reports, 100_000) && len(reports) < 2 {
		t.Errorf("reports of %v", reports)
	}
}

// A panic of a backoff in a worker becomes a panic of Run, and no goroutine is left behind.
func TestManyPanics(t *testing.T) {
	c := Comparison{
		Strategies: []Strategy{{Policy: retry.New(backoff.Func(func(int, float64) time.Duration { panic("boom") }))}},
		Jobs:       10, Retries: 3, Runs: 100, PeakWindow: 1, DeadWindow: 1,
	}
	panics(t, "boom", func() { _, _ = c.Run(t.Context()) })
}

// A panic in Progress, on the caller's own goroutine, leaves no worker behind. TestMain checks that.
func TestManyProgressPanics(t *testing.T) {
	c := openQuestion()
	c.Progress = func(int64, int64) { panic("enough") }
	panics(t, "enough", func() { _, _ = c.Run(t.Context()) })
}

func TestMomentsMerge(t *testing.T) {
	var whole, a, b, none moments
	for i := range int64(1000) {
		v := i * i % 777
		whole.add(v)
		if i < 300 {
			a.add(v)
		} else {
			b.add(v)
		}
	}
	none.merge(&a)
	none.merge(&b)
	none.merge(new(moments))
	got, want := none.counts(), whole.counts()
	if d := got.Mean - want.Mean; d > 1e-9 || d < -1e-9 {
		t.Errorf("the mean is %v, want %v", got.Mean, want.Mean)
	}
	if d := got.SD - want.SD; d > 1e-9 || d < -1e-9 {
		t.Errorf("the deviation is %v, want %v", got.SD, want.SD)
	}
	got.Mean, got.SD = want.Mean, want.SD
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// When run has returned, the goroutines of its workers have ended, also if the runs were stopped.
func TestManyLeavesNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // fails if a goroutine remains
		sweep := Sweep{Strategies: classics(), Clients: []int{30}, Runs: 40, Network: DefaultNetwork}
		_, err := sweep.Run(t.Context())
		must(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		sweep.Progress = func(int64, int64) { cancel() }
		sweep.Runs = 400
		if _, err := sweep.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("a canceled run returns %v", err)
		}
	})
}

package operators_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// consumers runs what they do side by side and waits for all.
func consumers(each ...func()) {
	var all sync.WaitGroup
	for _, f := range each {
		all.Go(f)
	}
	all.Wait()
}

// after plays s from that time on and compares; times are still those since the start.
func after[T any](t *testing.T, ctx context.Context, d time.Duration, s stream.Stream[T], yield func(T) bool, want string) func() {
	return func() {
		time.Sleep(d)
		if got := playWith(ctx, s, yield); got != want {
			t.Errorf("the consumer that came at %v: got  %s\nwant %s", d, got, want)
		}
	}
}

func yes(string) bool { return true }
func no(string) bool  { return false }

func TestShare_OneRunForAll(t *testing.T) {
	bubble(t, "consumers that come later get the values from then on", func(t *testing.T) {
		runs := 0
		s := operators.Share(returns(cold("10a 20b 30c 40|"), &runs))
		consumers(
			after(t, t.Context(), 0, s, yes, "10a 20b 30c 40|"),
			after(t, t.Context(), 15*ms, s, yes, "5b 15c 25|"),
			after(t, t.Context(), 35*ms, s, yes, "5|"),
		)
		if runs != 1 {
			t.Errorf("%d runs", runs)
		}
	})
	bubble(t, "all get the error", func(t *testing.T) {
		s := operators.Share(cold("10a 20#"))
		consumers(
			after(t, t.Context(), 0, s, yes, "10a 20#"),
			after(t, t.Context(), 15*ms, s, yes, "5#"),
		)
	})
	bubble(t, "each has its values on its own goroutine", func(t *testing.T) {
		s := operators.Share(cold("10a 20b 40|"))
		one := func() {
			caller := goroutine.Current().ID
			_ = s.ForEach(t.Context(), func(string) {
				if id := goroutine.Current().ID; id != caller {
					t.Errorf("on goroutine %d, not on %d", id, caller)
				}
			})
		}
		consumers(one, one, one)
	})
}

func TestShare_RunsAgainAfterItEnded(t *testing.T) {
	bubble(t, "after its end", func(t *testing.T) {
		runs := 0
		s := operators.Share(returns(cold("10a 20|"), &runs))
		consumers(
			after(t, t.Context(), 0, s, yes, "10a 20|"),
			after(t, t.Context(), 50*ms, s, yes, "10a 20|"),
			after(t, t.Context(), 55*ms, s, yes, "5a 15|"),
		)
		if runs != 2 {
			t.Errorf("%d runs", runs)
		}
	})
	bubble(t, "consumers that retry share the next run too", func(t *testing.T) {
		runs := 0
		s := operators.Share(returns(cold("10a 20#"), &runs)).Retry(2)
		consumers(
			after(t, t.Context(), 0, s, yes, "10a 30a 50a 60#"),
			after(t, t.Context(), 15*ms, s, yes, "15a 35a 45#"),
		)
		if runs != 3 {
			t.Errorf("%d runs", runs)
		}
	})
	bubble(t, "after the last consumer has left", func(t *testing.T) {
		runs := 0
		s := operators.Share(returns(cold("10a 20b 30c 40|"), &runs))
		consumers(
			after(t, t.Context(), 0, s, no, "10a 10<"),
			after(t, t.Context(), 15*ms, s, yes, "10a 20b 30c 40|"),
		)
		if runs != 2 {
			t.Errorf("%d runs", runs)
		}
	})
	bubble(t, "a new run begins when the old one has returned", func(t *testing.T) {
		s := operators.Share(windingDown(cold("10a 20b 30|"), 50*ms))
		consumers(
			after(t, t.Context(), 0, s, no, "10a 60<"),
			after(t, t.Context(), 15*ms, s, yes, "55a 65b 75|"),
		)
	})
}

func TestShare_ConsumersLeave(t *testing.T) {
	bubble(t, "one stops, the others go on", func(t *testing.T) {
		s := operators.Share(cold("10a 20b 30c 40|"))
		consumers(
			after(t, t.Context(), 0, s, no, "10a 10<"),
			after(t, t.Context(), 5*ms, s, yes, "5a 15b 25c 35|"),
		)
	})
	bubble(t, "one is cancelled, the others go on, even if it came first", func(t *testing.T) {
		s := operators.Share(cold("10a 20b 30c 40|"))
		consumers(
			after(t, cancelAt(t, 15*ms), 0, s, yes, "10a 15!"),
			after(t, t.Context(), 5*ms, s, yes, "5a 15b 25c 35|"),
		)
	})
	bubble(t, "one is cancelled while it has a value in hand", func(t *testing.T) {
		s := operators.Share(cold("10a 20b 30c 40|"))
		consumers(
			after(t, cancelAt(t, 15*ms), 0, s, func(string) bool { time.Sleep(7 * ms); return true }, "10a 17!"),
			after(t, t.Context(), 5*ms, s, yes, "5a 15b 25c 35|"),
		)
	})
	bubble(t, "one panics, the others go on", func(t *testing.T) {
		s := operators.Share(cold("10a 20b 30c 40|"))
		consumers(
			func() {
				if v := recovered(func() { _ = s(t.Context(), func(string) bool { panic("mine") }) }); v != "mine" {
					t.Errorf("%v", v)
				}
			},
			after(t, t.Context(), 5*ms, s, yes, "5a 15b 25c 35|"),
		)
	})
	bubble(t, "one exits, the others go on", func(t *testing.T) {
		s := operators.Share(cold("10a 20b 30c 40|"))
		consumers(
			func() { exits(func() { _ = s(t.Context(), func(string) bool { runtime.Goexit(); return true }) }) },
			after(t, t.Context(), 5*ms, s, yes, "5a 15b 25c 35|"),
		)
	})
	bubble(t, "the last one cancels the source and waits for it", func(t *testing.T) {
		returned := 0
		s := operators.Share(returns(windingDown(cold("10a"), 30*ms), &returned))
		consumers(
			after(t, cancelAt(t, 50*ms), 0, s, yes, "10a 80!"),
			after(t, cancelAt(t, 40*ms), 0, s, yes, "10a 40!"),
		)
		if returned != 1 {
			t.Error("the source has not returned")
		}
	})
	bubble(t, "cancelled before it comes: nothing is run", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		runs := 0
		if got := play(ctx, operators.Share(returns(cold("10a 20|"), &runs))); got != "0!" || runs != 0 {
			t.Error(got, runs)
		}
	})
}

func TestShare_SlowestConsumerSlowsAll(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var made atomic.Int64
		s := operators.ShareN(counted(3, &made), 2)
		slow := func(n int) bool {
			time.Sleep(10 * ms)
			if made.Load() != int64(n) {
				t.Errorf("%d made while %d is in hand", made.Load(), n)
			}
			return true
		}
		consumers(
			after(t, t.Context(), 0, s, slow, "01 102 203 30|"),
			after(t, t.Context(), 0, s, func(int) bool { return true }, "01 102 203 30|"),
		)
	})
	bubble(t, "a Buffer gives one room", func(t *testing.T) {
		s := operators.ShareN(stream.Of(1, 2, 3), 2)
		consumers(
			after(t, t.Context(), 0, s.Buffer(3), func(int) bool { time.Sleep(10 * ms); return true }, "01 102 203 30|"),
			after(t, t.Context(), 0, s, func(int) bool { return true }, "01 02 03 0|"),
		)
	})
	bubble(t, "and lets a stream be zipped with itself", func(t *testing.T) {
		s := operators.ShareN(stream.Of(1, 2, 3), 2)
		expect(t, operators.Zip(s.Buffer(1), s.Skip(1)), "0(1, 2) 0(2, 3) 0|")
	})
}

func TestShare_ContextOfTheRun(t *testing.T) {
	type key struct{}
	bubble(t, "has the values of the one that started it, not its end", func(t *testing.T) {
		first := context.WithValue(cancelAt(t, 15*ms), key{}, "first")
		src := stream.Stream[string](func(ctx context.Context, yield func(string) bool) error {
			if ctx.Value(key{}) != "first" {
				t.Errorf("the value is %v", ctx.Value(key{}))
			}
			if _, has := ctx.Deadline(); has {
				t.Error("there is a deadline")
			}
			return cold("10a 20b 30|")(ctx, yield)
		})
		s := operators.Share(src)
		consumers(
			after(t, first, 0, s, yes, "10a 15!"),
			after(t, t.Context(), 5*ms, s, yes, "5a 15b 25|"),
		)
	})
	bubble(t, "has ended when the source hears that the last one has stopped", func(t *testing.T) {
		s := operators.Share(func(ctx context.Context, yield func(int) bool) error {
			if yield(1) || ctx.Err() == nil {
				t.Error("the context lasts")
			}
			return nil
		})
		for range 2000 {
			if err := s(t.Context(), func(int) bool { return false }); err != nil {
				t.Fatal(err)
			}
		}
	})
	bubble(t, "a mock clock", func(t *testing.T) { expectOnMock(t, operators.Share(cold("10a 20b 30|")), "10a 20b 30|") })
}

func TestShare_PanicsOfTheSource(t *testing.T) {
	bubble(t, "are raised in each consumer, and the next run is a new one", func(t *testing.T) {
		runs := 0
		s := operators.Share(stream.Defer(func(context.Context) strs {
			if runs++; runs > 1 {
				return cold("10b 20|")
			}
			return cold("10a 20|").Concat(stream.Defer(func(context.Context) strs { panic(errBoom) }))
		}))
		one := func() {
			v := recovered(func() { _, _ = s.Collect(t.Context()) })
			if err, ok := v.(error); !ok || !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "share_test.go") {
				t.Errorf("%v", v)
			}
		}
		consumers(one, one)
		expect(t, s, "10b 20|")
	})
}

func TestShareN_WaitsForAllToCome(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		s := operators.ShareN(cold("0a 10b 20|"), 3)
		consumers(
			after(t, t.Context(), 0, s, yes, "30a 40b 50|"),
			after(t, t.Context(), 20*ms, s, yes, "10a 20b 30|"),
			after(t, t.Context(), 30*ms, s, yes, "0a 10b 20|"),
			after(t, t.Context(), 35*ms, s, yes, "5b 15|"),
		)
	})
	bubble(t, "one that leaves before the start does not count", func(t *testing.T) {
		s := operators.ShareN(cold("0a 10|"), 2)
		consumers(
			after(t, cancelAt(t, 10*ms), 0, s, yes, "10!"),
			after(t, t.Context(), 20*ms, s, yes, "20a 30|"),
			after(t, t.Context(), 40*ms, s, yes, "0a 10|"),
		)
	})
	bubble(t, "each run waits anew", func(t *testing.T) {
		s := operators.ShareN(cold("0a 10|"), 2)
		for range 2 {
			consumers(
				after(t, t.Context(), 0, s, yes, "20a 30|"),
				after(t, t.Context(), 20*ms, s, yes, "0a 10|"),
			)
		}
	})
}

// A stream made outside a bubble can be run in several, one after another.
func TestShare_InSeveralBubbles(t *testing.T) {
	s := operators.Share(cold("10a 20|"))
	for range 3 {
		synctest.Test(t, func(t *testing.T) { expect(t, s, "10a 20|") })
	}
}

// Consumers that come and go at random see the values of a run in order, without a gap, and nothing is left behind.
func TestShare_Crowd(t *testing.T) {
	s := operators.Share(stream.Range(0, 300))
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			for round := range 30 {
				ctx, cancel := context.WithCancelCause(t.Context())
				var got []int
				stop := (i*31 + round*17) % 100
				err := s(ctx, func(v int) bool {
					got = append(got, v)
					if len(got) == stop && round%2 == 0 {
						cancel(errCause)
					}
					return len(got) < stop || round%2 == 0
				})
				if err != nil && !errors.Is(err, errCause) {
					t.Error(err)
				}
				for k := range len(got) - 1 {
					if got[k+1] != got[k]+1 {
						t.Errorf("%d after %d", got[k+1], got[k])
					}
				}
				if !slices.IsSorted(got) {
					t.Error(got)
				}
				cancel(nil)
			}
		})
	}
	all.Wait()
}

// The end of a consumer's context, and that of the run, come through after any number of values, to each of two
// consumers.
func TestShare_EndsAfterAnyNumberOfValues(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		for n := range 20 {
			for _, busy := range []time.Duration{0, time.Minute} {
				src := ints(func(ctx context.Context, yield func(int) bool) error {
					for v := range n {
						yield(v)
					}
					select {
					case <-time.After(time.Hour):
						return errBoom
					case <-ctx.Done():
						return context.Cause(ctx)
					}
				})
				shared := operators.ShareN(src, 2)
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(time.Second, func() { cancel(errCause) })
				start, got := time.Now(), 0
				first, other := make(chan error, 1), 0
				var left time.Duration
				go func() {
					err := shared.ForEach(ctx, func(int) {
						if got++; got == n {
							time.Sleep(busy)
						}
					})
					left = time.Since(start)
					first <- err
				}()
				err := shared.ForEach(t.Context(), func(int) { other++ })
				if err != errBoom || other != n {
					t.Errorf("%d of %d values, %v", other, n, err)
				}
				if at := time.Since(start); at != time.Hour && (busy == 0 || n == 0 || at != time.Hour+busy) {
					t.Errorf("%d values: it ended after %v", n, at)
				}
				want := time.Second
				if n > 0 {
					want = max(want, busy)
				}
				if err := <-first; got != n || left != want || !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) {
					t.Errorf("%d of %d values, %v after %v, want the cause after %v", got, n, err, left, want)
				}
				cancel(nil)
			}
		}
	})
}

func TestShare_TheContextOfARunEndsWithIt(t *testing.T) {
	var run context.Context
	src := ints(func(ctx context.Context, _ func(int) bool) error { run = ctx; return nil })
	if _, err := operators.Share(src).Collect(t.Context()); err != nil || run.Err() != context.Canceled {
		t.Errorf("%v, and the run's context: %v", err, run.Err())
	}
}

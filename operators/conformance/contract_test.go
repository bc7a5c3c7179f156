package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// entries yields the entries of the catalogue, and the variants.
func entries() iter.Seq[entry] {
	return func(yield func(entry) bool) {
		for _, section := range append(slices.Clone(catalogue), section{entries: variants}) {
			for _, e := range section.entries {
				if !yield(e) {
					return
				}
			}
		}
	}
}

// Every source and operator keeps the contract of stream.Stream, whatever its source does.
func TestCatalogue_KeepsTheContract(t *testing.T) {
	for e := range entries() {
		t.Run(e.name, func(t *testing.T) { e.check(t, e.ahead) })
	}
}

// eachEntry runs f for each entry, in a bubble of its own.
func eachEntry(t *testing.T, f func(t *testing.T, e entry)) {
	for e := range entries() {
		t.Run(e.name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { f(t, e) }) })
	}
}

// A consumer that cancels and stops in one call has stopped: the stream returns nil, at whatever value.
func TestCatalogue_CancelAndStop(t *testing.T) {
	for kind, src := range map[string]func() text{
		"ending":  func() text { return paced("abcd", 6*ms, stream.Empty[string]()) },
		"failing": func() text { return paced("abcd", 6*ms, stream.Fail[string](errBoom)) },
		"at once": func() text { return stream.Of("a", "b", "c", "d") },
	} {
		t.Run(kind, func(t *testing.T) {
			eachEntry(t, func(t *testing.T, e entry) {
				for at := 1; at <= 5; at++ {
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
					defer cancel()
					n, stopped := 0, false
					err := e.run(ctx, src(), func(any) bool {
						if n++; n == at {
							cancel()
							stopped = true
						}
						return !stopped
					})
					if stopped && (err != nil || n != at) {
						t.Errorf("cancelled and stopped at value %d: got %d, and %v, want nil", at, n, err)
					}
				}
			})
		})
	}
}

// When the context ends, the error matches the cause and the context's error, whatever was running.
func TestCatalogue_AnEndByTheContext(t *testing.T) {
	for kind, src := range map[string]func() text{
		"never ending": func() text { return paced("abc", 6*ms, stream.Never[string]()) },
		"failing":      func() text { return paced("abcd", 6*ms, stream.Fail[string](errBoom)) },
		"ending":       func() text { return paced("abcd", 6*ms, stream.Empty[string]()) },
	} {
		t.Run(kind, func(t *testing.T) {
			eachEntry(t, func(t *testing.T, e entry) {
				for _, at := range []time.Duration{0, 1, 3*ms + 1, 13*ms + 1, 29*ms + 1, time.Minute} {
					ctx, cancel := context.WithTimeoutCause(t.Context(), at, errCause)
					err := e.run(ctx, src(), func(any) bool { return true })
					if ctx.Err() != nil && (!errors.Is(err, errCause) || !errors.Is(err, context.DeadlineExceeded)) {
						t.Errorf("at %v it ended with %v, want an error that matches the cause and the context's error", at, err)
					}
					cancel()
				}
			})
		})
	}
}

// A second callback of a clock, as of some mocks, has no effect.
func TestCatalogue_AClockThatCallsBackTwice(t *testing.T) {
	eachEntry(t, func(t *testing.T, e entry) {
		run := func(clock stream.Clock) (came []string) {
			ctx, cancel := context.WithTimeout(stream.WithClock(t.Context(), clock), 99*ms+ms/4) // an instant at which nothing else is due
			defer cancel()
			_ = e.run(ctx, paced("abcd", 6*ms, stream.Never[string]()), func(v any) bool {
				came = append(came, fmt.Sprint(v))
				return true
			})
			return came
		}
		clock := stream.ClockFrom(t.Context())
		if once, twice := run(clock), run(repeating{clock}); len(once) != len(twice) {
			t.Errorf("got %v, want %v", twice, once)
		}
	})
}

// repeating calls back twice, the second time a little later.
type repeating struct{ stream.Clock }

func (c repeating) AfterFunc(d time.Duration, f func()) stream.Stopper {
	return c.Clock.AfterFunc(d, func() {
		f()
		c.Clock.AfterFunc(ms/2, f)
	})
}

// Some clocks call back under their own lock: no operator calls its clock in a callback, and its values come when they
// come on the system's clock.
func TestCatalogue_AClockThatCallsBackUnderItsLock(t *testing.T) {
	eachEntry(t, func(t *testing.T, e entry) {
		run := func(ctx context.Context, pace time.Duration) (came []time.Duration) {
			start := time.Now()
			ctx, cancel := context.WithTimeout(ctx, 99*ms+ms/4) // an instant at which nothing else is due
			defer cancel()
			_ = e.run(ctx, paced("abcd", pace, stream.Never[string]()), func(any) bool {
				came = append(came, time.Since(start))
				return true
			})
			return came
		}
		for _, pace := range []time.Duration{3*ms + ms/10, 6 * ms} { // of which the shorter one is in time for a Timeout
			locked := run(stream.WithClock(t.Context(), &check.LockedClock{T: t}), pace)
			if want := run(t.Context(), pace); !slices.Equal(locked, want) {
				t.Errorf("each %v: values come after %v, want %v", pace, locked, want)
			}
		}
	})
}

// Under a context that has ended, no operator starts a goroutine, and only the passing ones run their source.
func TestCatalogue_NothingStartsUnderAnEndedContext(t *testing.T) {
	eachEntry(t, func(t *testing.T, e entry) {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errCause)
		runs := 0
		counted := text(func(ctx context.Context, yield func(string) bool) error {
			runs++
			return stream.Of("a")(ctx, yield)
		})
		n := 0
		err := e.run(ctx, counted, func(any) bool { n++; return true })
		if !errors.Is(err, errCause) || !errors.Is(err, context.Canceled) || n != 0 {
			t.Errorf("%d values, %v", n, err)
		}
		switch {
		case runs != 0 && !e.is(passing):
			t.Error("it runs its source under a context that has ended: return ending.ContextError(ctx) before, " +
				"or add .with(passing) to its row in the catalogue if it leaves that check to its source")
		case runs == 0 && e.is(passing):
			t.Error("it does not run its source under a context that has ended: its row says passing, want synchronous")
		}
	})
}

// The rows say which operators are synchronous.
func TestCatalogue_Synchronous(t *testing.T) {
	eachEntry(t, func(t *testing.T, e entry) {
		if len(e.inputs) == 0 {
			return
		}
		switch elsewhere := usesOtherGoroutines(t, e); {
		case elsewhere && e.is(synchronous):
			t.Error("it uses other goroutines: its row in the catalogue says that it is synchronous, or passing")
		case !elsewhere && !e.is(synchronous) && !e.is(careless): // whose other stream may have ended
			t.Error("it uses no other goroutine: add .with(synchronous) to its row in the catalogue, or .with(passing)")
		}
	})
}

func usesOtherGoroutines(t *testing.T, e entry) bool {
	caller, before := virtual.Current().ID, virtual.Count()
	var elsewhere atomic.Bool
	look := func() {
		time.Sleep(time.Nanosecond) // until the functions that a timer has called have returned
		if virtual.Current().ID != caller || virtual.Count() > before {
			elsewhere.Store(true)
		}
	}
	src := text(func(ctx context.Context, yield func(string) bool) error {
		look()
		return paced("abcd", 6*ms, stream.Empty[string]()).Tap(func(string) { look() })(ctx, yield)
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	_ = e.run(ctx, src, func(any) bool { look(); return true })
	return elsewhere.Load()
}

// If a source breaks the contract, continues after yield has returned false and then fails, the consumer sees none of
// it.
func TestCatalogue_ASourceThatDoesNotStop(t *testing.T) {
	eachEntry(t, func(t *testing.T, e entry) {
		if e.is(trusting) {
			return
		}
		rude := text(func(ctx context.Context, yield func(string) bool) error {
			for _, v := range []string{"a", "b", "c", "d", "e"} {
				time.Sleep(6 * ms)
				yield(v)
			}
			return errBoom
		})
		for stop := 1; stop <= 2; stop++ {
			n := 0
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			if err := e.run(ctx, rude, func(any) bool { n++; return n < stop }); n > stop || n == stop && err != nil {
				t.Errorf("stopped at value %d: %d values, %v: after yield has returned false call it no more and return nil, "+
					"or add trusting to its row in the catalogue if it relies on its source for that", stop, n, err)
			}
			cancel()
		}
	})
}

// looksAtNothing yields n values, 6ms apart, ignores its context, and ends without an error.
func looksAtNothing(n int) text {
	return func(_ context.Context, yield func(string) bool) error {
		for i := range n {
			time.Sleep(6 * ms)
			if !yield(string(rune('a' + i%26))) {
				break
			}
		}
		return nil
	}
}

// An operator that runs its source on a goroutine of its own stops a source that ignores its context. It returns the
// cause although the source returns nil.
func TestCatalogue_ASourceThatDoesNotLookAtItsContext(t *testing.T) {
	eachEntry(t, func(t *testing.T, e entry) {
		if len(e.inputs) > 0 && !e.is(synchronous) && !e.is(careless) && !usesOtherGoroutines(t, e) {
			return // TestCatalogue_Synchronous names the trait that the row lacks
		}
		for _, values := range []int{1, 2, 1000} {
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(time.Minute, func() { cancel(errBoom) })
			n := 0
			err := e.run(ctx, looksAtNothing(values), func(any) bool {
				if n++; n == min(values, 2) {
					cancel(errCause)
				}
				return true
			})
			if isSync := e.is(synchronous); context.Cause(ctx) == errCause {
				if !errors.Is(err, errCause) && (!isSync || e.is(looking)) {
					t.Errorf("cancelled at value %d of %d: %v, want the cause of the context (ending.Error), whatever its source returns", min(values, 2), values, err)
				}
				if n > 2 && (!isSync && !e.is(careless) || e.is(stopping)) {
					t.Errorf("cancelled at value 2 of %d: %d values: stop the source, or add careless to its row in the catalogue", values, n)
				}
			}
			cancel(nil)
		}
	})
}

// An operator that does not read ahead has no timer armed while its consumer works, except Timeout's timer, which stays
// set.
func TestCatalogue_NoTimerWhileTheConsumerWorks(t *testing.T) {
	eachEntry(t, func(t *testing.T, e entry) {
		if e.ahead != 0 || len(e.inputs) != 1 {
			return // its sources work meanwhile
		}
		want := int64(0)
		if slices.Contains([]string{"stream.Timeout", "Timeout/1h", "Merge, Timeout, Buffer and Retry"}, e.name) {
			want = 1
		}
		c := &countingClock{}
		ctx, cancel := context.WithTimeout(stream.WithClock(t.Context(), c), time.Minute)
		defer cancel()
		_ = e.run(ctx, paced("abcd", 6*ms, stream.Empty[string]()), func(any) bool {
			if n := c.armed.Load(); n != want {
				t.Errorf("%d timers are armed, want %d", n, want)
			}
			return true
		})
	})
}

// countingClock is the system clock. It counts the armed timers.
type countingClock struct{ armed atomic.Int64 }

func (c *countingClock) Now() time.Time { return time.Now() }

func (c *countingClock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	c.armed.Add(1)
	return &countedTimer{c, time.AfterFunc(d, func() {
		c.armed.Add(-1)
		f()
	})}
}

type countedTimer struct {
	clock *countingClock
	timer *time.Timer
}

func (t *countedTimer) Stop() bool {
	stopped := t.timer.Stop()
	if stopped {
		t.clock.armed.Add(-1)
	}
	return stopped
}

// The streams that rx.ToStream makes keep the contract, whatever rxgo's observables do.
func TestBridge_KeepsTheContract(t *testing.T) {
	for name, src := range map[string]func(context.Context) rxgo.Observable{
		"empty":   func(ctx context.Context) rxgo.Observable { return rxgo.Empty() },
		"never":   func(ctx context.Context) rxgo.Observable { return rxgo.Never() },
		"values":  func(ctx context.Context) rxgo.Observable { return rxgo.Just(1, 2, 3)(rxgo.WithContext(ctx)) },
		"failing": func(ctx context.Context) rxgo.Observable { return rxgo.Just(1, errBoom)(rxgo.WithContext(ctx)) },
		"ticks": func(ctx context.Context) rxgo.Observable {
			return rxgo.Interval(rxgo.WithDuration(5*ms), rxgo.WithContext(ctx))
		},
	} {
		t.Run(name, func(t *testing.T) {
			streamtest.Check(t, func() stream.Stream[int] { return rx.ToStream[int](src) })
		})
		t.Run(name+", there and back, retried", func(t *testing.T) {
			streamtest.Check(t, func() stream.Stream[int] {
				return rx.ToStream[int](func(ctx context.Context) rxgo.Observable {
					return rx.RetryWhen(src, constant(3*ms, retry.Limit(2)), rxgo.WithContext(ctx))
				})
			})
		})
	}
}

package rx_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	backoff4 "github.com/cenkalti/backoff/v4"
	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Each test first shows a pitfall of rxgo, so that a change in rxgo is noticed, and then what this package does with
// the same source.

func always(error) bool { return true }

func TestTrap_HotSourceTurnsTheErrorIntoSuccess(t *testing.T) {
	hot := map[string]func(ctx context.Context) rxgo.Observable{
		"Create": func(ctx context.Context) rxgo.Observable { return (&feed{attempts: 3, n: 1}).create(ctx) },
		"FromChannel": func(context.Context) rxgo.Observable {
			items := make(chan rxgo.Item, 2)
			items <- rxgo.Of(1)
			items <- rxgo.Error(errBoom)
			close(items)
			return rxgo.FromChannel(items)
		},
		"Thrown with a value before": func(context.Context) rxgo.Observable { return rxgo.Thrown(errBoom).StartWith(rxgo.Just(1)()) },
		"Eager": func(ctx context.Context) rxgo.Observable {
			return (&feed{attempts: 3, n: 1}).cold().Skip(0, rxgo.WithObservationStrategy(rxgo.Eager), rxgo.WithContext(ctx))
		},
	}
	for name, open := range hot {
		bubble(t, name+"/rxgo", func(t *testing.T) {
			expect(t, open(t.Context()).Retry(3, always).Observe(), []any{1}, nil)
		})
		bubble(t, name+"/Wrap", func(t *testing.T) {
			values, err := received(t, rx.Wrap(open(t.Context())).RetryWhen(quadratic(3)).Observe())
			if !slices.Equal(values, []any{1}) || !errors.Is(err, stream.ErrNotRestartable) || !errors.Is(err, errBoom) {
				t.Errorf("got %v, %v, want ErrNotRestartable and the failure", values, err)
			}
		})
		bubble(t, name+"/RetryWhen", func(t *testing.T) {
			values, err := received(t, rx.RetryWhen(open, quadratic(2)).Observe())
			if !slices.Equal(values, []any{1, 1, 1}) || !errors.Is(err, errBoom) || !errors.Is(err, retry.ErrExhausted) {
				t.Errorf("got %v, %v, want three attempts and the failure", values, err)
			}
		})
	}
}

func TestTrap_ErrorsDoNotEndAnObservable(t *testing.T) {
	src := func(context.Context) rxgo.Observable { return rxgo.Just(1, errBoom, 2)() }
	bubble(t, "rxgo", func(t *testing.T) {
		var after bool
		for item := range src(nil).Observe() {
			after = item.V == 2
		}
		if !after {
			t.Error("nothing came after the error")
		}
	})
	bubble(t, "ToStream", func(t *testing.T) {
		got, err := rx.ToStream[int](src).Collect(t.Context())
		if !slices.Equal(got, []int{1}) || err != errBoom {
			t.Errorf("got %v, %v", got, err)
		}
	})
	bubble(t, "RetryWhen", func(t *testing.T) {
		expect(t, rx.RetryWhen(src, quadratic(1)).Observe(), []any{1, 1}, errBoom)
	})
	bubble(t, "Wrap", func(t *testing.T) {
		expect(t, rx.Wrap(src(nil)).RetryWhen(quadratic(1)).Observe(), []any{1, 1}, errBoom)
	})
}

func TestTrap_FailedAttemptsAreNotCancelled(t *testing.T) {
	const retries = 50
	bubble(t, "rxgo", func(t *testing.T) {
		f := &feed{attempts: retries + 1, n: 1, stays: true}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if _, err := received(t, f.cold().Retry(retries, always, rxgo.WithContext(ctx)).Observe()); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := f.alive.Load(); n != retries {
			t.Errorf("%d failed attempts are left, want %d", n, retries)
		}
	})
	for name, retried := range map[string]func(f *feed) rxgo.Observable{
		"RetryWhen of Create": func(f *feed) rxgo.Observable { return rx.RetryWhen(f.create, atOnce(retries)) },
		"RetryWhen of Defer":  func(f *feed) rxgo.Observable { return rx.RetryWhen(coldly(f), atOnce(retries)) },
		"Wrap of Defer":       func(f *feed) rxgo.Observable { return rx.Wrap(f.cold()).RetryWhen(atOnce(retries)) },
	} {
		for _, rude := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s/watches no context=%v", name, rude), func(t *testing.T) {
				f := &feed{attempts: retries + 1, n: 1, stays: true, rude: rude}
				values, err := received(t, retried(f).Observe())
				if len(values) != retries+1 || err != nil {
					t.Fatalf("%d values, %v", len(values), err)
				}
				synctest.Wait()
				if n := f.alive.Load(); n != 0 {
					t.Errorf("%d failed attempts are left", n)
				}
			})
		}
	}
}

func coldly(f *feed) func(context.Context) rxgo.Observable {
	return func(context.Context) rxgo.Observable { return f.cold() }
}

// Merge sends without checking its context. If nobody receives, it blocks in that send.
func TestTrap_MergeIsLeftInItsSend(t *testing.T) {
	for name, stop := range map[string]func(ctx context.Context, merged func(context.Context) rxgo.Observable){
		"stopped": func(ctx context.Context, merged func(context.Context) rxgo.Observable) {
			_ = rx.ToStream[int](merged)(ctx, func(int) bool { return false })
		},
		"failed": func(ctx context.Context, merged func(context.Context) rxgo.Observable) {
			_, _ = rx.ToStream[string](merged).Collect(ctx)
		},
	} {
		bubble(t, name, func(t *testing.T) {
			var own []context.Context
			stop(t.Context(), func(ctx context.Context) rxgo.Observable {
				own = append(own, ctx)
				return rxgo.Merge([]rxgo.Observable{rxgo.Range(0, 10), rxgo.Range(10, 10)}, rxgo.WithContext(ctx))
			})
			// The bubble ends only if Merge's goroutines have ended.
			if len(own) != 1 || own[0].Err() == nil {
				t.Errorf("the contexts are %v, want one, cancelled", own)
			}
		})
	}
}

// CombineLatest checks its context, then calls a function, which may take long, and then sends.
func TestTrap_CombineLatestSendsLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		_, err := rx.ToStream[int](func(ctx context.Context) rxgo.Observable {
			return rxgo.CombineLatest(func(v ...any) any {
				time.Sleep(time.Minute)
				return v[0]
			}, []rxgo.Observable{rxgo.Just(1)()}, rxgo.WithContext(ctx))
		}).Collect(ctx)
		if !errors.Is(err, errCause) {
			t.Error(err)
		}
		time.Sleep(time.Hour)
	})
}

func TestTrap_RangeNeverClosesOnCancel(t *testing.T) {
	open := func(ctx context.Context) rxgo.Observable { return rxgo.Range(0, 1000, rxgo.WithContext(ctx)) }
	bubble(t, "rxgo", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		items := open(ctx).Observe()
		<-items
		cancel()
		synctest.Wait()
		select {
		case item, ok := <-items:
			t.Errorf("got %v, %v, want nothing forever", item, ok)
		default:
		}
	})
	bubble(t, "cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		start := time.Now()
		err := rx.ToStream[int](open).ForEach(ctx, func(int) { cancel(errCause) })
		if !errors.Is(err, errCause) || time.Since(start) != 0 {
			t.Errorf("got %v after %v", err, time.Since(start))
		}
	})
	bubble(t, "stopped", func(t *testing.T) {
		start := time.Now()
		got, err := rx.ToStream[int](open).Take(2).Collect(t.Context())
		if !slices.Equal(got, []int{0, 1}) || err != nil || time.Since(start) != 0 {
			t.Errorf("got %v, %v after %v", got, err, time.Since(start))
		}
	})
}

// scenarios are run by inChild. Those that crash wait for it, however long it takes.
var scenarios = map[string]func(){
	"BackOffRetry cancelled": func() {
		ctx, cancel := context.WithCancel(context.Background())
		o := rxgo.Never().BackOffRetry(backoff4.NewConstantBackOff(time.Millisecond), rxgo.WithContext(ctx))
		cancel()
		for range o.Observe() {
		}
		select {} // until it crashes
	},
	"Retry over FlatMap": func() {
		_, _ = flatMapped(&feed{attempts: 3, n: 1}).Retry(3, always).ToSlice(0)
		select {} // until it crashes
	},
	"Retry over Debounce": func() {
		_, _ = debounced(&feed{attempts: 3, n: 1}).Retry(3, always).ToSlice(0)
		select {} // until it crashes
	},
	"Wrap of FlatMap and Map": func() {
		same := func(_ context.Context, v any) (any, error) { return v, nil }
		for range rx.Wrap(flatMapped(&feed{attempts: 3, n: 1}).Map(same)).RetryWhen(atOnce(3)).Observe() {
		}
		select {} // until it crashes
	},
	"Retry over FromEventSource": func() {
		events := make(chan rxgo.Item)
		items := rxgo.FromEventSource(events).Retry(3, always).Observe()
		observes := make(chan struct{})
		go func() {
			<-items
			close(observes)
			for range items {
			}
		}()
		for observed := false; !observed; {
			select {
			case events <- rxgo.Of(0): // lost while nobody observes
			case <-observes:
				observed = true
			}
		}
		begins := make(chan struct{})
		go sendEvents(events, func() { begins <- struct{}{} })
		for range 3 { // the error, a blocked item, and one that nobody receives
			<-begins
		}
		select {
		case <-begins:
			fmt.Fprintln(os.Stderr, "a third one got through")
		case <-time.After(300 * time.Millisecond):
			fmt.Fprintln(os.Stderr, "held up")
		}
	},
	"stream panics": func() {
		for range rx.FromStream(panicking).Observe() {
		}
		select {} // until it crashes
	},
	"none": func() { fmt.Fprintln(os.Stderr, "survived") },
}

func flatMapped(f *feed, opts ...rxgo.Option) rxgo.Observable {
	return f.cold(opts...).FlatMap(func(i rxgo.Item) rxgo.Observable {
		if i.E != nil {
			return rxgo.Thrown(i.E)
		}
		return rxgo.Just(i.V)()
	}, opts...)
}

func debounced(f *feed, opts ...rxgo.Option) rxgo.Observable {
	return f.cold(opts...).Debounce(rxgo.WithDuration(time.Millisecond), opts...)
}

func expectCrash(t *testing.T, scenario string, want ...string) {
	t.Helper()
	stderr, survived := inChild(t, scenario)
	if survived || !slices.ContainsFunc(want, func(w string) bool { return strings.Contains(stderr, "panic: "+w) }) {
		t.Errorf("survived: %v, want a crash with one of %q; stderr:\n%.1000s", survived, want, stderr)
	}
}

func TestChildProcessesReportWhetherTheySurvive(t *testing.T) {
	if stderr, survived := inChild(t, "none"); !survived || stderr != "survived\n" {
		t.Errorf("survived: %v, stderr: %q", survived, stderr)
	}
}

func TestTrap_BackOffRetryCrashesOnCancel(t *testing.T) {
	t.Run("rxgo", func(t *testing.T) { expectCrash(t, "BackOffRetry cancelled", "close of closed channel") })
	for name, open := range map[string]func(context.Context) rxgo.Observable{
		"in an attempt": func(context.Context) rxgo.Observable { return rxgo.Never() },
		"in a wait":     func(context.Context) rxgo.Observable { return rxgo.Thrown(errBoom) },
	} {
		bubble(t, "RetryWhen/"+name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			items := rx.RetryWhen(open, quadratic(3)).Observe(rxgo.WithContext(ctx))
			time.AfterFunc(time.Second/2, func() { cancel(errCause) })
			start := time.Now()
			values, err := received(t, items)
			if values != nil || !errors.Is(err, errCause) || time.Since(start) != time.Second/2 {
				t.Errorf("got %v, %v after %v", values, err, time.Since(start))
			}
			if name == "in a wait" && !errors.Is(err, errBoom) {
				t.Errorf("the last failure is not in %v", err)
			}
		})
	}
}

func TestTrap_RetryCrashesOverOperatorsThatAreBuiltOnce(t *testing.T) {
	t.Run("rxgo/FlatMap", func(t *testing.T) {
		expectCrash(t, "Retry over FlatMap", "send on closed channel", "close of closed channel")
	})
	t.Run("rxgo/Debounce", func(t *testing.T) {
		expectCrash(t, "Retry over Debounce", "send on closed channel", "close of closed channel")
	})
	for name, build := range map[string]func(*feed, ...rxgo.Option) rxgo.Observable{"FlatMap": flatMapped, "Debounce": debounced} {
		bubble(t, "RetryWhen/"+name, func(t *testing.T) {
			f := &feed{attempts: 3, n: 1}
			start := time.Now()
			values, err := received(t, rx.RetryWhen(func(ctx context.Context) rxgo.Observable {
				return build(f, rxgo.WithContext(ctx))
			}, quadratic(3)).Observe())
			if err != nil || f.began.Load() != 3 || time.Since(start) != 5*time.Second {
				t.Errorf("got %v, %v, %d attempts in %v", values, err, f.began.Load(), time.Since(start))
			}
			if name == "FlatMap" && !slices.Equal(values, []any{1, 1, 1}) {
				t.Errorf("got %v", values)
			}
		})
		bubble(t, "Wrap/"+name, func(t *testing.T) {
			f := &feed{attempts: 3, n: 1}
			_, err := received(t, rx.Wrap(build(f)).RetryWhen(quadratic(3)).Observe())
			if !errors.Is(err, stream.ErrNotRestartable) || !errors.Is(err, errBoom) || f.began.Load() != 1 {
				t.Errorf("got %v after %d attempts", err, f.began.Load())
			}
		})
	}
}

func TestTrap_RetriedObservablesOfRxgoAreHot(t *testing.T) {
	bubble(t, "rxgo", func(t *testing.T) {
		f := &feed{attempts: 1, n: 4}
		o := f.cold().Retry(1, always)
		if one, two := o.Observe(), o.Observe(); one != two {
			t.Error("two Observes have two channels")
		}
		if _, err := received(t, o.Observe()); err != nil || f.began.Load() != 1 {
			t.Errorf("%v, %d runs", err, f.began.Load())
		}
	})
	for name, retried := range map[string]func(f *feed) rxgo.Observable{
		"RetryWhen": func(f *feed) rxgo.Observable { return rx.RetryWhen(f.create, quadratic(3)) },
		"Wrap":      func(f *feed) rxgo.Observable { return rx.Wrap(f.cold()).RetryWhen(quadratic(3)) },
	} {
		bubble(t, name, func(t *testing.T) {
			f := &feed{attempts: -1, n: 2}
			o := retried(f)
			synctest.Wait()
			if n := f.began.Load(); n != 0 {
				t.Errorf("%d attempts before Observe", n)
			}
			f.attempts = 2
			expect(t, o.Observe(), []any{1, 2, 1, 2}, nil)
			f.attempts = 4
			expect(t, o.Observe(), []any{1, 2, 1, 2}, nil) // also a limit of its own
			if want := []time.Duration{0, time.Second, time.Second, 2 * time.Second}; !slices.Equal(f.at, want) {
				t.Errorf("attempts at %v, want %v", f.at, want)
			}
		})
	}
}

func TestTrap_ContextsGetLost(t *testing.T) {
	type key struct{}
	given := func(t *testing.T, text string) context.Context { return context.WithValue(t.Context(), key{}, text) }
	producer := func(got *any) []rxgo.Producer {
		return []rxgo.Producer{func(ctx context.Context, _ chan<- rxgo.Item) { *got = ctx.Value(key{}) }}
	}
	bubble(t, "rxgo/Create does not see that of Observe", func(t *testing.T) {
		var got any
		for range rxgo.Create(producer(&got), rxgo.WithContext(given(t, "built"))).Observe(rxgo.WithContext(given(t, "observed"))) {
		}
		if got != "built" {
			t.Errorf("got %v", got)
		}
	})
	bubble(t, "rxgo/Defer loses the one it was built with", func(t *testing.T) {
		var got any
		for range rxgo.Defer(producer(&got), rxgo.WithContext(given(t, "built"))).Observe(rxgo.WithContext(t.Context())) {
		}
		if got != nil {
			t.Errorf("got %v", got)
		}
	})
	bubble(t, "RetryWhen/cancel reaches Create", func(t *testing.T) {
		f := &feed{attempts: 1, n: 1 << 30}
		ctx, cancel := context.WithCancel(t.Context())
		items := rx.RetryWhen(f.create, quadratic(3)).Observe(rxgo.WithContext(ctx))
		<-items
		cancel()
		synctest.Wait()
		if f.alive.Load() != 0 {
			t.Error("the producer is left")
		}
	})
	bubble(t, "FromStream/both count", func(t *testing.T) {
		for _, which := range []string{"built", "observed"} {
			ctxs, cancels := map[string]context.Context{}, map[string]context.CancelCauseFunc{}
			for _, name := range []string{"built", "observed"} {
				ctxs[name], cancels[name] = context.WithCancelCause(context.WithValue(t.Context(), key{}, name))
			}
			var value any
			o := rx.FromStream(func(ctx context.Context, _ func(int) bool) error {
				value = ctx.Value(key{})
				<-ctx.Done()
				return context.Cause(ctx)
			}, rxgo.WithContext(ctxs["built"]))
			items := o.Observe(rxgo.WithContext(ctxs["observed"]))
			time.AfterFunc(time.Second, func() { cancels[which](errCause) })
			expect(t, items, nil, errCause)
			if value != "observed" {
				t.Errorf("the stream saw the value %v", value)
			}
		}
	})
}

func TestTrap_OperatorsCloseWithoutAnErrorWhenTheirContextEnds(t *testing.T) {
	open := func(ctx context.Context) rxgo.Observable { return rxgo.Never().Take(1, rxgo.WithContext(ctx)) }
	bubble(t, "rxgo", func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		expect(t, open(ctx).Observe(), nil, nil)
	})
	bubble(t, "ToStream", func(t *testing.T) {
		for range 20 { // rxgo and the stream see it in any order
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if _, err := rx.ToStream[int](open).Collect(ctx); !errors.Is(err, context.DeadlineExceeded) {
				t.Error(err)
			}
			cancel()
		}
	})
}

// The close comes first, before the run is woken by the end of its context.
func TestTrap_AnOperatorClosesBeforeTheStreamSeesTheEndOfItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := &endedContext{Context: context.Background(), done: make(chan struct{})}
		items := make(chan rxgo.Item)
		go func() {
			items <- rxgo.Of(1)
			synctest.Wait()
			ctx.ended.Store(true)
			close(items)
		}()
		got, err := rx.ToStream[int](func(context.Context) rxgo.Observable { return rxgo.FromChannel(items) }).Collect(ctx)
		if !slices.Equal(got, []int{1}) || !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// endedContext is a context that may have ended before its Done is closed.
type endedContext struct {
	context.Context
	done  chan struct{}
	ended atomic.Bool
}

func (c *endedContext) Done() <-chan struct{} { return c.done }

func (c *endedContext) Err() error {
	if c.ended.Load() {
		return context.Canceled
	}
	return nil
}

// An observer that no longer receives blocks the event source, and so every other observer, also new ones. Observe
// waits for a mutex, so this test cannot use a bubble.
func TestTrap_AnAbandonedObserverHoldsUpTheOthers(t *testing.T) {
	t.Run("rxgo", func(t *testing.T) {
		stderr, survived := inChild(t, "Retry over FromEventSource")
		if !survived || stderr != "held up\n" {
			t.Errorf("survived: %v, stderr: %s", survived, stderr)
		}
	})
	wrapped := func(o rxgo.Observable) rxgo.Observable { return rx.Wrap(o).RetryWhen(atOnce(3)) }
	opened := func(o rxgo.Observable) rxgo.Observable {
		return rx.RetryWhen(func(context.Context) rxgo.Observable { return o }, atOnce(3))
	}
	for name, build := range map[string]func(events chan rxgo.Item) (o rxgo.Observable, start func(context.Context)){
		"FromEventSource": func(events chan rxgo.Item) (rxgo.Observable, func(context.Context)) {
			return wrapped(rxgo.FromEventSource(events)), func(context.Context) {}
		},
		"FromEventSource shared by attempts": func(events chan rxgo.Item) (rxgo.Observable, func(context.Context)) {
			return opened(rxgo.FromEventSource(events)), func(context.Context) {}
		},
		"connectable": func(events chan rxgo.Item) (rxgo.Observable, func(context.Context)) {
			o := rxgo.FromChannel(events, rxgo.WithPublishStrategy())
			return wrapped(o), func(ctx context.Context) { o.Connect(ctx) }
		},
	} {
		bubble(t, name, func(t *testing.T) {
			events := make(chan rxgo.Item)
			o, start := build(events)
			var got []any
			done := make(chan struct{})
			items := o.Observe()
			go func() {
				defer close(done)
				for item := range items {
					got = append(got, item.V)
				}
			}()
			synctest.Wait()
			start(t.Context())
			sendEvents(events, synctest.Wait) // what is sent before the retry observes is missed
			synctest.Wait()
			close(events)
			<-done
			if !slices.Equal(got, []any{1, 2, 3}) {
				t.Errorf("got %v, want all that came after the failure", got)
			}
		})
	}
}

// sendEvents sends an error and then the numbers 1 to 3.
func sendEvents(events chan<- rxgo.Item, before func()) {
	for _, item := range []rxgo.Item{rxgo.Error(errBoom), rxgo.Of(1), rxgo.Of(2), rxgo.Of(3)} {
		before()
		events <- item
	}
}

package rx_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/stream"
)

func TestWrapIsAnObservableWithRetryWhen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{attempts: 4, n: 2}
		start := time.Now()
		// The result can be chained with rxgo's methods and with another RetryWhen.
		var o rxgo.Observable = rx.Wrap(f.cold()).RetryWhen(quadratic(1)).RetryWhen(quadratic(2))
		got, err := o.Map(func(_ context.Context, v any) (any, error) { return v.(int) * 10, nil }).ToSlice(0)
		if want := []any{10, 20, 10, 20, 10, 20, 10, 20}; !slices.Equal(got, want) || err != nil {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
		// The inner one retries after 1 s and gives up. The outer one runs it again 1 s later, and so on.
		if want := []time.Duration{0, time.Second, 2 * time.Second, 3 * time.Second}; !slices.Equal(f.at, want) {
			t.Errorf("attempts at %v, want %v", f.at, want)
		}
		if time.Since(start) != 3*time.Second {
			t.Errorf("it took %v", time.Since(start))
		}
	})
}

func TestWrapRefusesTheSecondSubscriptionToAHotSource(t *testing.T) {
	for name, hot := range map[string]func() rxgo.Observable{
		"Create":      func() rxgo.Observable { return (&feed{attempts: 1, n: 1}).create(context.Background()) },
		"FromChannel": func() rxgo.Observable { return rxgo.FromChannel(rxgo.Just(1)().Observe()) },
		"Merge":       func() rxgo.Observable { return rxgo.Merge([]rxgo.Observable{rxgo.Just(1)()}) },
		"FlatMap":     func() rxgo.Observable { return flatMapped(&feed{attempts: 1, n: 1}) },
		"Just of a channel": func() rxgo.Observable {
			items := make(chan int, 1)
			items <- 1
			close(items)
			return rxgo.Just(items)()
		},
		"another's": func() rxgo.Observable { return others{rxgo.FromChannel(rxgo.Just(1)().Observe())} },
	} {
		bubble(t, name, func(t *testing.T) {
			w := rx.Wrap(hot())
			expect(t, w.RetryWhen(quadratic(1)).Observe(), []any{1}, nil)
			values, err := received(t, w.RetryWhen(quadratic(1)).Observe())
			if values != nil || !errors.Is(err, stream.ErrNotRestartable) {
				t.Errorf("got %v, %v", values, err)
			}
			if want := "rx: Wrap: the observable is hot: "; err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("got %v, want it to begin with %q", err, want)
			}
		})
	}
}

// others is an observable of a type that this package does not know.
type others struct{ rxgo.Observable }

func TestWrapRefusesAnEventSourceThatIsOver(t *testing.T) {
	bubble(t, "ended", func(t *testing.T) {
		events := make(chan rxgo.Item)
		items := rx.Wrap(rxgo.FromEventSource(events)).RetryWhen(quadratic(3)).Observe()
		synctest.Wait()
		go func() {
			events <- rxgo.Of(1)
			events <- rxgo.Error(errBoom)
			close(events)
		}()
		values, err := received(t, items)
		if !slices.Equal(values, []any{1}) || !errors.Is(err, stream.ErrNotRestartable) || !errors.Is(err, errBoom) {
			t.Errorf("got %v, %v", values, err)
		}
	})
	bubble(t, "continues", func(t *testing.T) {
		events := make(chan rxgo.Item)
		items := rx.Wrap(rxgo.FromEventSource(events)).RetryWhen(quadratic(3)).Observe()
		synctest.Wait()
		go func() {
			events <- rxgo.Error(errBoom)
			events <- rxgo.Of("missed in the wait")
			time.Sleep(2 * time.Second)
			events <- rxgo.Of(1)
			close(events)
		}()
		expect(t, items, []any{1}, nil)
	})
}

// If a retry is cancelled while it waits for events, it ends with the cause, not with ErrNotRestartable.
func TestWrapOfAnEventSourceCancelledBeforeAnEvent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events := make(chan rxgo.Item)
		ctx, cancel := context.WithCancelCause(t.Context())
		items := rx.Wrap(rxgo.FromEventSource(events)).RetryWhen(quadratic(3)).Observe(rxgo.WithContext(ctx))
		synctest.Wait()
		time.AfterFunc(time.Minute, func() { cancel(errCause) })
		events <- rxgo.Error(errBoom)
		values, err := received(t, items)
		if values != nil || !errors.Is(err, errCause) || errors.Is(err, stream.ErrNotRestartable) {
			t.Errorf("got %v, %v", values, err)
		}
		close(events)
	})
}

func TestWrapOfANilChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values, err := received(t, rx.Wrap(rxgo.FromChannel(nil)).RetryWhen(quadratic(3)).Observe())
		if values != nil || err == nil || err.Error() != "rx: Observable.RetryWhen: Observe returned a nil channel" {
			t.Errorf("got %v, %v", values, err)
		}
	})
}

// The cases that Wrap cannot recognize, so that its comment stays true.
func TestWrapCannotSee(t *testing.T) {
	same := func(_ context.Context, v any) (any, error) { return v, nil }
	bubble(t, "a hot source behind an operator", func(t *testing.T) {
		expect(t, rx.Wrap((&feed{attempts: 3, n: 1}).create(t.Context()).Map(same)).RetryWhen(quadratic(3)).Observe(), []any{1}, nil)
	})
	bubble(t, "a Defer that reads a shared channel", func(t *testing.T) {
		shared := make(chan rxgo.Item, 2)
		shared <- rxgo.Error(errBoom)
		close(shared)
		expect(t, rx.Wrap(rxgo.Defer([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
			for item := range shared {
				next <- item
			}
		}})).RetryWhen(quadratic(3)).Observe(), nil, nil)
	})
	bubble(t, "an Observe before", func(t *testing.T) {
		o := (&feed{attempts: 1, n: 1}).create(t.Context())
		expect(t, o.Observe(), []any{1}, nil)
		expect(t, rx.Wrap(o).RetryWhen(quadratic(3)).Observe(), nil, nil)
	})
	bubble(t, "the context that Defer was built with", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		expect(t, rx.Wrap((&feed{attempts: 1, n: 2}).cold(rxgo.WithContext(ctx))).RetryWhen(quadratic(3)).Observe(), []any{1, 2}, nil)
	})
	t.Run("FlatMap behind an operator", func(t *testing.T) {
		expectCrash(t, "Wrap of FlatMap and Map", "send on closed channel", "close of closed channel")
	})
}

func TestWrapLeavesAHotChannelToItsOtherReaders(t *testing.T) {
	for name, hot := range map[string]func(items chan rxgo.Item) rxgo.Observable{
		"FromChannel": func(items chan rxgo.Item) rxgo.Observable { return rxgo.FromChannel(items) },
		"Create": func(items chan rxgo.Item) rxgo.Observable {
			return rxgo.Create([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
				for item := range items {
					next <- item
				}
			}})
		},
		"Eager": func(items chan rxgo.Item) rxgo.Observable {
			return rxgo.FromChannel(items).Skip(0, rxgo.WithObservationStrategy(rxgo.Eager), rxgo.WithErrorStrategy(rxgo.ContinueOnError))
		},
		"another's": func(items chan rxgo.Item) rxgo.Observable { return others{rxgo.FromChannel(items)} },
	} {
		bubble(t, name, func(t *testing.T) {
			items := make(chan rxgo.Item, 3)
			o := hot(items)
			items <- rxgo.Error(errBoom)
			items <- rxgo.Of(1)
			items <- rxgo.Of(2)
			close(items)
			if _, err := received(t, rx.Wrap(o).RetryWhen(quadratic(3)).Observe()); !errors.Is(err, stream.ErrNotRestartable) {
				t.Fatal(err)
			}
			synctest.Wait()
			expect(t, o.Observe(), []any{1, 2}, nil)
		})
	}
}

func TestManySubscriptionsSideBySide(t *testing.T) {
	opts := make([]rxgo.Option, 1, 8) // spare capacity, to which two appends of rxgo would write
	opts[0] = rxgo.WithBufferedChannel(1)
	src := func(ctx context.Context) rxgo.Observable {
		return rxgo.Just(1, errBoom)(rxgo.WithContext(ctx))
	}
	for name, o := range map[string]rxgo.Observable{
		"Wrap":      rx.Wrap(rxgo.Just(1, errBoom)()).RetryWhen(atOnce(2)),
		"RetryWhen": rx.RetryWhen(src, atOnce(2), opts...),
	} {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			for range 20 {
				wg.Go(func() {
					values, err := received(t, o.Observe(rxgo.WithContext(t.Context())))
					if !slices.Equal(values, []any{1, 1, 1}) || !errors.Is(err, errBoom) {
						t.Errorf("got %v, %v", values, err)
					}
				})
			}
			wg.Wait()
		})
	}
}

// Observe of an event source waits for a mutex while one of its observers blocks it, so this test cannot use a bubble.
func TestAHeldUpEventSourceDoesNotHoldUpACancel(t *testing.T) {
	for _, form := range []string{"Wrap", "RetryWhen"} {
		t.Run(form, func(t *testing.T) {
			events := make(chan rxgo.Item)
			running, stop := context.WithCancel(t.Context())
			source := rxgo.FromEventSource(events, rxgo.WithContext(running))
			stuck := source.Observe()
			events <- rxgo.Of(1) // received by the source, whose observer does not receive
			waitForStack("rxgo/v2.Item.SendContext", true)
			ctx, cancel := context.WithCancelCause(t.Context())
			o := rx.RetryWhen(func(context.Context) rxgo.Observable { return source }, atOnce(1))
			if form == "Wrap" {
				o = rx.Wrap(source).RetryWhen(atOnce(1))
			}
			items := o.Observe(rxgo.WithContext(ctx), rxgo.WithBufferedChannel(1))
			waitForStack("eventSourceIterable).Observe", true)
			cancel(errCause)
			if values, err := received(t, items); values != nil || !errors.Is(err, errCause) || err.Error() != errCause.Error() {
				t.Errorf("got %v, %v, want the cause alone", values, err)
			}
			<-stuck
			waitForStack("eventSourceIterable).Observe", false)
			for i := range 3 { // the late observer receives
				events <- rxgo.Of(i)
				<-stuck
			}
			close(events) // if its context ended during a delivery, rxgo's source would close nothing
			for range stuck {
			}
			stop()
		})
	}
}

// waitForStack returns when a goroutine is in the function, or none is.
func waitForStack(function string, some bool) {
	b := make([]byte, 1<<20)
	for strings.Contains(string(b[:runtime.Stack(b, true)]), function) != some {
		runtime.Gosched()
	}
}

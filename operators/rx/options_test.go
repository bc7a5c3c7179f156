package rx_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestOption_WithBufferedChannel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		check := func(name string, observe func(stream.Stream[int]) <-chan rxgo.Item, room, ahead int) {
			t.Helper()
			var made atomic.Int64
			items := observe(stream.Range(1, 10).Tap(func(int) { made.Add(1) }))
			first := <-items
			synctest.Wait()
			if n := int(made.Load()); first.V != 1 || cap(items) != room || n != 1+ahead {
				t.Errorf("%s: after the item %v %d more are made, the room is %d; want %d and %d", name, first, n-1, cap(items), ahead, room)
			}
			for range items {
			}
		}
		// Ahead of the reader are the items in the channel, and the one that is being sent.
		check("none", func(s stream.Stream[int]) <-chan rxgo.Item { return rx.FromStream(s).Observe() }, 0, 1)
		check("built with", func(s stream.Stream[int]) <-chan rxgo.Item {
			return rx.FromStream(s, rxgo.WithBufferedChannel(3)).Observe()
		}, 3, 4)
		check("observed with", func(s stream.Stream[int]) <-chan rxgo.Item {
			return rx.FromStream(s, rxgo.WithBufferedChannel(3)).Observe(rxgo.WithBufferedChannel(1))
		}, 1, 2)
		check("RetryWhen", func(s stream.Stream[int]) <-chan rxgo.Item {
			src := func(context.Context) rxgo.Observable { return rx.FromStream(s) } // it holds one too
			return rx.RetryWhen(src, atOnce(1), rxgo.WithBufferedChannel(3)).Observe()
		}, 3, 5)
	})
}

func TestOption_EagerBeginsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{attempts: 3, n: 1}
		o := rx.RetryWhen(f.create, quadratic(3), rxgo.WithObservationStrategy(rxgo.Eager), rxgo.WithBufferedChannel(10))
		time.Sleep(time.Minute)
		synctest.Wait()
		if want := []time.Duration{0, time.Second, 5 * time.Second}; !slices.Equal(f.at, want) {
			t.Errorf("attempts at %v, want %v", f.at, want)
		}
		if one, two := o.Observe(), o.Observe(); one != two {
			t.Error("two Observes have two channels")
		}
		expect(t, o.Observe(), []any{1, 1, 1}, nil)
	})
}

func TestOption_EagerHeedsItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		o := rx.FromStream(stream.Never[int](), rxgo.WithContext(ctx), rxgo.WithObservationStrategy(rxgo.Eager))
		time.AfterFunc(time.Second, func() { cancel(errCause) })
		expect(t, o.Observe(), nil, errCause)
	})
}

func TestOption_WithPublishStrategy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{attempts: 3, n: 2}
		o := rx.RetryWhen(f.create, quadratic(3), rxgo.WithPublishStrategy())
		one, two := o.Observe(), o.Observe()
		start := time.Now()
		go o.Connect(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			expect(t, one, []any{1, 2, 1, 2, 1, 2}, nil)
		}()
		expect(t, two, []any{1, 2, 1, 2, 1, 2}, nil)
		<-done
		if f.began.Load() != 3 || time.Since(start) != 5*time.Second {
			t.Errorf("%d attempts in %v, want one run for both", f.began.Load(), time.Since(start))
		}
	})
}

func TestOption_WhatMeansNothing(t *testing.T) {
	var none context.Context
	for name, opt := range map[string]rxgo.Option{
		"WithErrorStrategy":        rxgo.WithErrorStrategy(rxgo.ContinueOnError),
		"WithPool":                 rxgo.WithPool(4),
		"WithCPUPool":              rxgo.WithCPUPool(),
		"Serialize":                rxgo.Serialize(func(v any) int { return v.(int) }),
		"WithBackPressureStrategy": rxgo.WithBackPressureStrategy(rxgo.Drop),
		"Lazy":                     rxgo.WithObservationStrategy(rxgo.Lazy),
		"WithContext(nil)":         rxgo.WithContext(none),
	} {
		bubble(t, name, func(t *testing.T) {
			f := &feed{attempts: -1, n: 3}
			o := rx.RetryWhen(f.create, quadratic(1), opt)
			synctest.Wait()
			if f.began.Load() != 0 {
				t.Error("it has begun")
			}
			expect(t, o.Observe(), []any{1, 2, 3, 1, 2, 3}, errBoom)
			expect(t, o.Observe(opt), []any{1, 2, 3, 1, 2, 3}, errBoom)
		})
	}
}

// A pool behind the observable reads it with several goroutines.
func TestOption_PoolBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &feed{attempts: 2, n: 3}
		got, err := rx.RetryWhen(f.create, quadratic(1)).Map(func(_ context.Context, v any) (any, error) {
			return v, nil
		}, rxgo.WithPool(3)).ToSlice(0)
		slices.SortFunc(got, func(a, b any) int { return a.(int) - b.(int) })
		if !slices.Equal(got, []any{1, 1, 2, 2, 3, 3}) || err != nil {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// The ways in which an injected clock reaches the waits.
var clockPaths = map[string]func(mock *clock.Mock, src func(context.Context) rxgo.Observable, ctx context.Context) <-chan rxgo.Item{
	"policy": func(mock *clock.Mock, src func(context.Context) rxgo.Observable, ctx context.Context) <-chan rxgo.Item {
		return rx.RetryWhen(src, quadratic(3, retry.WithClock(mock))).Observe(rxgo.WithContext(ctx))
	},
	"context of RetryWhen": func(mock *clock.Mock, src func(context.Context) rxgo.Observable, ctx context.Context) <-chan rxgo.Item {
		return rx.RetryWhen(src, quadratic(3), rxgo.WithContext(stream.WithClock(ctx, mock))).Observe()
	},
	"context of RetryWhen, another one for Observe": func(mock *clock.Mock, src func(context.Context) rxgo.Observable, ctx context.Context) <-chan rxgo.Item {
		return rx.RetryWhen(src, quadratic(3), rxgo.WithContext(stream.WithClock(context.Background(), mock))).Observe(rxgo.WithContext(ctx))
	},
	"context of Observe": func(mock *clock.Mock, src func(context.Context) rxgo.Observable, ctx context.Context) <-chan rxgo.Item {
		return rx.RetryWhen(src, quadratic(3)).Observe(rxgo.WithContext(stream.WithClock(ctx, mock)))
	},
	"context of an operator behind": func(mock *clock.Mock, src func(context.Context) rxgo.Observable, ctx context.Context) <-chan rxgo.Item {
		return rx.RetryWhen(src, quadratic(3)).Skip(0, rxgo.WithContext(stream.WithClock(ctx, mock))).Observe()
	},
	"Wrap, policy": func(mock *clock.Mock, src func(context.Context) rxgo.Observable, ctx context.Context) <-chan rxgo.Item {
		return rx.Wrap(src(ctx)).RetryWhen(quadratic(3, retry.WithClock(mock))).Observe(rxgo.WithContext(ctx))
	},
	"Wrap, context of Observe": func(mock *clock.Mock, src func(context.Context) rxgo.Observable, ctx context.Context) <-chan rxgo.Item {
		return rx.Wrap(src(ctx)).RetryWhen(quadratic(3)).Observe(rxgo.WithContext(stream.WithClock(ctx, mock)))
	},
	"stream": func(mock *clock.Mock, src func(context.Context) rxgo.Observable, ctx context.Context) <-chan rxgo.Item {
		return rx.FromStream(rx.ToStream[int](src).RetryWhen(quadratic(3))).Observe(rxgo.WithContext(stream.WithClock(ctx, mock)))
	},
}

func TestMockClock(t *testing.T) {
	for name, observe := range clockPaths {
		bubble(t, name, func(t *testing.T) {
			mock := clock.NewMock()
			start := mock.Now()
			var at []time.Duration
			items := observe(mock, func(ctx context.Context) rxgo.Observable {
				return rxgo.Defer([]rxgo.Producer{func(ctx context.Context, next chan<- rxgo.Item) {
					at = append(at, mock.Now().Sub(start))
					_ = rxgo.Of(len(at)).SendContext(ctx, next) && len(at) < 4 && rxgo.Error(errBoom).SendContext(ctx, next)
				}})
			}, t.Context())
			var got []any
			var end error
			done := make(chan struct{})
			go func() {
				defer close(done)
				got, end = received(t, items)
			}()
			for _, step := range []struct {
				by       time.Duration
				attempts int
			}{
				{0, 1},
				{time.Second - 1, 1}, {1, 2}, // 1 s
				{4*time.Second - 1, 2}, {1, 3}, // 4 s
				{9*time.Second - 1, 3}, {1, 4}, // 9 s
			} {
				synctest.Wait()
				mock.Add(step.by)
				synctest.Wait()
				if len(at) != step.attempts {
					t.Fatalf("%d attempts at %v, want %d", len(at), mock.Now().Sub(start), step.attempts)
				}
			}
			<-done
			if want := []time.Duration{0, time.Second, 5 * time.Second, 14 * time.Second}; !slices.Equal(at, want) {
				t.Errorf("attempts at %v, want %v", at, want)
			}
			if !slices.Equal(got, []any{1, 2, 3, 4}) || end != nil {
				t.Errorf("got %v, %v", got, end)
			}
		})
	}
}

type key string

// seen runs a stream under the two contexts and returns what it saw.
func seen(t *testing.T, built, observed context.Context) (ctx context.Context) {
	t.Helper()
	expect(t, rx.FromStream(func(c context.Context, _ func(int) bool) error {
		ctx = c
		return nil
	}, rxgo.WithContext(built)).Observe(rxgo.WithContext(observed)), nil, nil)
	return ctx
}

func TestBothContexts_Values(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		built := context.WithValue(context.WithValue(t.Context(), key("a"), "built"), key("b"), "built")
		observed := context.WithValue(context.WithValue(t.Context(), key("b"), "observed"), key("c"), "observed")
		ctx := seen(t, built, observed)
		for k, want := range map[key]any{"a": "built", "b": "observed", "c": "observed", "d": nil} {
			if got := ctx.Value(k); got != want {
				t.Errorf("%s is %v, want %v", k, got, want)
			}
		}
	})
}

func TestBothContexts_Deadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := func(d time.Duration) context.Context {
			ctx, cancel := context.WithTimeout(t.Context(), d)
			t.Cleanup(cancel)
			return ctx
		}
		none := t.Context()
		start := time.Now()
		for _, c := range []struct {
			built, observed context.Context
			want            time.Duration // 0 for none
		}{
			{none, none, 0},
			{in(time.Second), none, time.Second},
			{none, in(time.Second), time.Second},
			{in(time.Second), in(time.Minute), time.Second},
			{in(time.Minute), in(time.Second), time.Second},
		} {
			deadline, ok := seen(t, c.built, c.observed).Deadline()
			if ok != (c.want != 0) || ok && deadline.Sub(start) != c.want {
				t.Errorf("got %v, %v, want %v", deadline.Sub(start), ok, c.want)
			}
		}
	})
}

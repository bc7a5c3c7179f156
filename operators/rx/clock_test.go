package rx_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"
	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

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

// The policy's clock takes precedence over the context's.
func TestMockClock_OfThePolicyFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock, idle := clock.NewMock(), clock.NewMock()
		f := &feed{attempts: 2, n: 1}
		o := rx.RetryWhen(f.create, quadratic(1, retry.WithClock(mock)), rxgo.WithContext(stream.WithClock(t.Context(), idle)))
		items := o.Observe()
		<-items
		synctest.Wait()
		mock.Add(time.Second)
		expect(t, items, []any{1}, nil)
	})
}

func TestMockClock_CancelInAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mock := clock.NewMock()
		ctx, cancel := context.WithCancelCause(t.Context())
		f := &feed{attempts: 2, n: 1}
		items := rx.RetryWhen(f.create, quadratic(1, retry.WithClock(mock))).Observe(rxgo.WithContext(ctx))
		<-items
		synctest.Wait()
		mock.Add(time.Second / 2)
		time.AfterFunc(time.Minute, func() { cancel(errCause) })
		values, err := received(t, items)
		if values != nil || err == nil || f.began.Load() != 1 {
			t.Errorf("got %v, %v, %d attempts", values, err, f.began.Load())
		}
		mock.Add(time.Hour) // a timer that was left would have no effect
		synctest.Wait()
		if f.began.Load() != 1 {
			t.Error("an attempt after the cancel")
		}
	})
}

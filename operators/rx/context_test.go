package rx_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/stream"
)

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

// If either context has ended, no attempt is made.
func TestBothContexts_EndedBefore(t *testing.T) {
	for _, which := range []string{"built", "observed"} {
		bubble(t, which, func(t *testing.T) {
			ended, cancel := context.WithCancelCause(t.Context())
			cancel(errCause)
			ctxs := map[string]context.Context{"built": t.Context(), "observed": t.Context()}
			ctxs[which] = ended
			f := &feed{attempts: 1, n: 1}
			o := rx.RetryWhen(f.create, quadratic(1), rxgo.WithContext(ctxs["built"]), rxgo.WithBufferedChannel(1))
			expect(t, o.Observe(rxgo.WithContext(ctxs["observed"])), nil, errCause)
			if f.began.Load() != 0 {
				t.Errorf("%d attempts", f.began.Load())
			}
		})
	}
}

// A subscription that is over leaves nothing in the context it was built with, which may live on.
func TestBothContexts_NothingIsLeft(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		lasting := &countingContext{Context: ctx}
		o := rx.FromStream(stream.Of(1), rxgo.WithContext(lasting))
		for range 3 {
			expect(t, o.Observe(rxgo.WithContext(t.Context())), []any{1}, nil)
		}
		synctest.Wait()
		if n := lasting.waiting.Load(); n != 0 {
			t.Errorf("%d functions still wait for its end", n)
		}
	})
}

// countingContext counts the functions that wait for its end.
type countingContext struct {
	context.Context
	waiting atomic.Int64
}

// AfterFunc is what package context calls.
func (c *countingContext) AfterFunc(f func()) (stop func() bool) {
	c.waiting.Add(1)
	return func() bool {
		c.waiting.Add(-1)
		return true
	}
}

// Value hides the embedded context, so that package context does not use it directly.
func (c *countingContext) Value(any) any { return nil }

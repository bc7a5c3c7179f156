package rx_test

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/check"
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
		lasting := &check.Parent{Context: ctx}
		o := rx.FromStream(stream.Of(1), rxgo.WithContext(lasting))
		for range 3 {
			expect(t, o.Observe(rxgo.WithContext(t.Context())), []any{1}, nil)
		}
		synctest.Wait()
		if n := lasting.Waiting.Load(); n != 0 {
			t.Errorf("%d functions still wait for its end", n)
		}
	})
}

func TestTheContextsOfARunEndWithIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := &check.Parent{Context: t.Context()}
		given := &check.Parent{Context: t.Context()}
		o := rx.FromStream(stream.Of(1, 2, 3), rxgo.WithContext(made))
		for range 3 {
			var got []int
			for item := range o.Observe(rxgo.WithContext(given)) {
				if item.E != nil {
					t.Fatal(item.E)
				}
				got = append(got, item.V.(int))
			}
			if !slices.Equal(got, []int{1, 2, 3}) {
				t.Error(got)
			}
		}
		synctest.Wait()
		if n, m := made.Waiting.Load(), given.Waiting.Load(); n != 0 || m != 0 {
			t.Errorf("%d and %d contexts are left", n, m)
		}
	})
}

package rx_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/operators/rx"
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

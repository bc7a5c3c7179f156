package operators_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
)

// handling is a feed, with a stage inside its open or nil, and what is done with its values.
type handling struct {
	feed   func(stage func(ints) ints) ints
	handle func(context.Context, int) error
	bury   func(int)
}

// Where a handler that fails can be put, and what follows, as the table in docs/recipes.md says. The feed has the values 1
// to 4, and is cut after 2. Handling 3 fails twice, or always.
func TestResume_AHandlerThatFails(t *testing.T) {
	policy := retry.New(backoff.Constant(time.Second), retry.Limit(3), retry.ResetAfterItems(1))
	for _, c := range []struct {
		name   string
		always bool
		run    func(ctx context.Context, to handling) error
		want   string
	}{
		{"retry.Run in TryForEach", false, func(ctx context.Context, to handling) error {
			return to.feed(nil).TryForEach(ctx, func(ctx context.Context, v int) error {
				return retry.Run(ctx, policy, func(ctx context.Context) error { return to.handle(ctx, v) })
			})
		}, "open(0) 1 2 open(2) 3# 3# 3 4"},
		{"retry.Run in TryForEach, which gives up and buries", true, func(ctx context.Context, to handling) error {
			return to.feed(nil).TryForEach(ctx, func(ctx context.Context, v int) error {
				err := retry.Run(ctx, policy, func(ctx context.Context) error { return to.handle(ctx, v) })
				if err != nil && ctx.Err() == nil {
					to.bury(v)
					return nil
				}
				return err
			})
		}, "open(0) 1 2 open(2) 3# 3# 3# 3# buried:3 4"},
		{"retry.Do in TryMap after Resume", false, func(ctx context.Context, to handling) error {
			return operators.TryMap(to.feed(nil), func(ctx context.Context, v int) (int, error) {
				return v, retry.Run(ctx, policy, func(ctx context.Context) error { return to.handle(ctx, v) })
			}).ForEach(ctx, func(int) {})
		}, "open(0) 1 2 open(2) 3# 3# 3 4"},
		{"TryForEach without a retry", false, func(ctx context.Context, to handling) error {
			return to.feed(nil).TryForEach(ctx, to.handle)
		}, "open(0) 1 2 open(2) 3# → boom"},
		{"TryMap inside open", false, func(ctx context.Context, to handling) error {
			return to.feed(func(s ints) ints {
				return operators.TryMap(s, func(ctx context.Context, v int) (int, error) { return v, to.handle(ctx, v) })
			}).ForEach(ctx, func(int) {})
		}, "open(0) 1 2 open(2) 3# open(2) 3# open(2) 3 4"},
		{"TryMap and RetryWhen after Resume", false, func(ctx context.Context, to handling) error {
			return operators.TryMap(to.feed(nil), func(ctx context.Context, v int) (int, error) { return v, to.handle(ctx, v) }).
				RetryWhen(policy).ForEach(ctx, func(int) {})
		}, "open(0) 1 2 open(2) 3# open(0) 1 2 3# open(0) 1 2 3 4"},
	} {
		bubble(t, c.name, func(t *testing.T) {
			var story []string
			note := func(format string, args ...any) { story = append(story, fmt.Sprintf(format, args...)) }
			cuts, failures := 0, 0
			feed := func(stage func(ints) ints) ints {
				return operators.Resume(0, func(at int) ints {
					note("open(%d)", at)
					s := numbers(4, 4, false)(at)
					if cuts++; cuts == 1 {
						s = numbers(4, 2, false)(at)
					}
					if stage != nil {
						s = stage(s)
					}
					return s
				}, latest, policy)
			}
			handle := func(_ context.Context, v int) error {
				if v == 3 && (c.always || failures < 2) {
					failures++
					note("3#")
					return errBoom
				}
				note("%d", v)
				return nil
			}
			if err := c.run(t.Context(), handling{feed, handle, func(v int) { note("buried:%d", v) }}); err != nil {
				if !errors.Is(err, errBoom) {
					t.Error(err)
				}
				note("→ %v", errBoom)
			}
			if got := strings.Join(story, " "); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

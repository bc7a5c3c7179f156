package retry_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// A clock may call back under its own lock: a call that hangs for its AttemptTimeout, and a wait, end in their time.
func TestAClockThatCallsBackUnderItsLock(t *testing.T) {
	hangs := func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	}
	for name, run := range map[string]func(ctx context.Context, p retry.Policy) error{
		"Do": func(ctx context.Context, p retry.Policy) error {
			_, err := retry.Do(ctx, p, hangs)
			return err
		},
		"RetryWhen": func(ctx context.Context, p retry.Policy) error {
			return stream.FromFunc(hangs).Timeout(2*time.Second).RetryWhen(p).ForEach(ctx, func(int) {})
		},
	} {
		for _, own := range []bool{false, true} {
			bubble(t, name, func(t *testing.T) {
				p, start := every(time.Second, retry.Limit(2), retry.AttemptTimeout(2*time.Second), retry.ResetAfter(time.Hour)), time.Now()
				clock := &check.LockedClock{T: t}
				ctx := stream.WithClock(t.Context(), clock)
				if own {
					p = p.With(retry.WithClock(clock))
				}
				if err := run(ctx, p); !errors.Is(err, retry.ErrLimit) || time.Since(start) != 8*time.Second {
					t.Errorf("%v after %v, want the limit after 8s", err, time.Since(start))
				}
				synctest.Wait()
			})
		}
	}
}

// Package poller asks again and again: at an interval, in a loop of one's own, and by long polls.
package poller

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// Every calls ask, and again every d after it has succeeded. After a failure it waits as the policy decides. It returns
// when ctx ends or when the policy gives up.
func Every(ctx context.Context, d time.Duration, policy retry.Policy, ask func(context.Context) error) error {
	for a, err := range policy.Attempts(ctx) {
		if err != nil {
			return err
		}
		for err = ask(ctx); err == nil && ctx.Err() == nil; err = ask(ctx) {
			a.Reset() // it works: the outage is over
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}
		a.Fail(err)
	}
	return context.Cause(ctx)
}

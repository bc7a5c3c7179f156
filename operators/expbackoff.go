package operators

import (
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// ExpBackoff returns the policy that waits delay·n²·jitter before the n-th retry and gives up after the given number of
// retries. The options are applied afterwards: with retry.ResetAfterItems(1), for example, the retries are counted from
// the last value.
//
//	src.RetryWhen(operators.ExpBackoff(jitter.Default, time.Second, 3)) // about 1, 4 and 9 s
//
// The name is that of "Exponential-Backoff RxJava operator with Jitter" (2017), but the curve is quadratic;
// backoff.Exponential doubles.
func ExpBackoff(j jitter.Jitter, delay time.Duration, retries int, opts ...retry.Option) retry.Policy {
	switch {
	case j == nil:
		here.Panicf("ExpBackoff", "j is nil, want jitter.None for no jitter")
	case delay < 0:
		here.Panicf("ExpBackoff", "delay is %v, want at least 0", delay)
	case retries < 0:
		here.Panicf("ExpBackoff", "retries is %d, want at least 0", retries)
	}
	return retry.New(backoff.Quadratic(delay).Jitter(j), retry.Limit(retries)).With(opts...)
}

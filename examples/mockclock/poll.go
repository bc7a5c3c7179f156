// Package mockclock shows a flow that takes hours, and its test that takes milliseconds: time is injected, with
// github.com/benbjohnson/clock in place of the system's.
package mockclock

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Prices polls price every minute. A failed poll, or one that takes more than 10 s, starts the polling again after 1,
// 4, 9, 16 and 25 s; a good one starts that count again.
func Prices(price func(context.Context) (float64, error), opts ...retry.Option) stream.Stream[float64] {
	poll := stream.FromFunc(price).Timeout(10 * time.Second)
	return operators.ConcatMap(ticks(), func(time.Time) stream.Stream[float64] { return poll }).
		RetryWhen(operators.ExpBackoff(jitter.None, time.Second, 5, append(opts, retry.ResetAfterItems(1))...))
}

// ticks ticks at once and then every minute.
func ticks() stream.Stream[time.Time] {
	return stream.Timer(0).Concat(stream.Interval(time.Minute))
}

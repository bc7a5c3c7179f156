// Package mockclock shows how a flow that takes minutes is tested in milliseconds. The test injects
// github.com/benbjohnson/clock instead of the system's clock.
package mockclock

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Prices polls price every minute. When a poll fails or takes more than 10 s, the polling starts again after 1, 4, 9,
// 16 and 25 s. A successful poll resets these delays.
func Prices(price func(context.Context) (float64, error), opts ...retry.Option) stream.Stream[float64] {
	poll := stream.FromFunc(price).Timeout(10 * time.Second)
	return operators.ConcatMap(ticks(), func(time.Time) stream.Stream[float64] { return poll }).
		RetryWhen(operators.ExpBackoff(jitter.None, time.Second, 5, append(opts, retry.ResetAfterItems(1))...))
}

// ticks emits at once and then every minute.
func ticks() stream.Stream[time.Time] {
	return stream.Timer(0).Concat(stream.Interval(time.Minute))
}

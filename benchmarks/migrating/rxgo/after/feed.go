package after

import (
	"context"
	"time"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators/rx"
	"github.com/retrywhen/retrywhen/retry"
)

var policy = retry.New(
	backoff.Exponential(time.Second, 1.5).Cap(time.Minute).Jitter(jitter.Deviation(0.5)),
	retry.Limit(5))

// Feed decodes the items of read, and reads again after a failure.
func Feed(ctx context.Context, read rxgo.Producer, decode rxgo.Func) rxgo.Observable {
	return rx.RetryWhen(func(ctx context.Context) rxgo.Observable { // an attempt's own context
		return rxgo.Defer([]rxgo.Producer{read}, rxgo.WithContext(ctx)).Map(decode, rxgo.WithContext(ctx))
	}, policy, rxgo.WithContext(ctx))
}

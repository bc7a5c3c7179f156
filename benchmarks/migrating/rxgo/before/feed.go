package before

import (
	"context"
	"time"

	"github.com/cenkalti/backoff/v4"
	"github.com/reactivex/rxgo/v2"
)

// Feed decodes the items of read, and reads again after a failure.
func Feed(ctx context.Context, read rxgo.Producer, decode rxgo.Func) rxgo.Observable {
	b := backoff.NewExponentialBackOff() // it has state, so each feed makes its own
	b.InitialInterval = time.Second
	b.MaxElapsedTime = 0
	return rxgo.Defer([]rxgo.Producer{read}, rxgo.WithContext(ctx)).
		Map(decode).
		BackOffRetry(backoff.WithMaxRetries(b, 5), rxgo.WithContext(ctx)) // a cancellation during an attempt panics
}

package stream

import (
	"context"
	"time"
)

// RetryObserver is a RetryHandler that also observes the attempts, as retry.Policy does. A handler that wraps an
// observer hides it, unless it has an Observe too, for example by embedding.
type RetryObserver interface {
	RetryHandler
	// Observe begins the observation of one subscription: at its first failure, before Handle is called, or else at its
	// end. It returns the observation, nil for none, and the context under which the handler's stream runs: the
	// subscriber's, or one derived from it. Observe and the observation's methods are called on the subscriber's
	// goroutine.
	Observe(RetrySubscription) (context.Context, RetryObservation)
}

// RetrySubscription is a subscription to a retried stream, as a RetryObserver sees it.
type RetrySubscription struct {
	// Context is the subscriber's.
	Context context.Context
	// Began is when the subscription began, by the clock of Context.
	Began time.Time
	// Over says that the subscription has ended and no attempt has failed before: only Ended will be called.
	Over bool
}

// RetryObservation is the observation of one subscription by a RetryObserver.
type RetryObservation interface {
	// Failed is called with each failure, before the handler receives it. It is not called for an error that ends the
	// subscription unasked: the subscriber's cancellation, a permanent error, ErrNotRestartable.
	Failed(Failure)
	// Works is called once for each attempt after a failure that works: when it delivers its first value, before the
	// direct consumer receives it, or when it ends without an error and without a value. It is not called once the
	// subscriber's context has ended.
	Works()
	// Ended is called when the subscription is over. It is not called when a panic ends the subscription.
	Ended(RetryEnd)
}

// RetryEnd describes the end of a subscription to a retried stream.
type RetryEnd struct {
	// Context and Began are the subscription's.
	Context context.Context
	Began   time.Time
	// Attempts is the number of attempts.
	Attempts int
	// Items is the number of values that the last attempt delivered, if Failed was not called for it.
	Items int64
	// Err is the error that RetryWhen returns: nil if the source has ended or the consumer has stopped.
	Err error
}

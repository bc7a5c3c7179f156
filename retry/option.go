package retry

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/stream"
)

// Option is one setting of a Policy. "In a row" in the comments of the options means: since the start or the last
// reset. Without one of the Reset options the count never starts again, whatever was delivered; with several, any of
// them starts it again.
type Option func(*config)

// WithBackoff makes the policy wait as b says.
func WithBackoff(b backoff.Backoff) Option {
	return func(c *config) { c.backoff, c.draws = b, drawsOf(b) }
}

// Limit allows at most n retries in a row; 0 allows none.
func Limit(n int) Option {
	if n < 0 {
		panicf("Limit", "n is %d, want at least 0", n)
	}
	return func(c *config) { c.limit = n }
}

// Within gives up rather than start a retry later than d after the first failure in a row. It does not bound the
// attempts themselves: with Within(10 s) and AttemptTimeout(30 s) an operation that hangs takes more than a minute. To
// bound it as a whole give ctx a deadline.
func Within(d time.Duration) Option {
	notNegative("Within", d)
	return func(c *config) { c.within = d }
}

// StopAt gives up when the backoff before jitter, its Ceiling, is d or more. A delay that an error dictates does not
// count.
func StopAt(d time.Duration) Option {
	notNegative("StopAt", d)
	return func(c *config) { c.stopAt = d }
}

// AttemptTimeout gives each call that Do, Run or MapRetry make a deadline of its own, d after it began; its context is
// cancelled when the call returns. A call that runs into it has failed and is retried like any other. Streams are not
// touched by it: they have Timeout. d must be more than 0.
func AttemptTimeout(d time.Duration) Option {
	if d <= 0 {
		panicf("AttemptTimeout", "d is %v, want more than 0", d)
	}
	return func(c *config) { c.attemptTimeout = d }
}

// If retries only the errors for which retryable returns true. It is called once for each failure that is not
// permanent, before any wait; an error it refuses is returned as it is.
func If(retryable func(error) bool) Option {
	if retryable == nil {
		panicf("If", "retryable is nil")
	}
	return func(c *config) { c.retryable = retryable }
}

// OnRetry calls f once for each retry that is scheduled, before its wait, on the goroutine of the operation. A
// cancellation may still prevent the retry, a reset shorten its delay.
func OnRetry(f func(context.Context, Event)) Option {
	if f == nil {
		panicf("OnRetry", "f is nil")
	}
	return func(c *config) { c.onRetry = append(c.onRetry, f) }
}

// OnGiveUp calls f once when the policy gives an operation up, with the *Error that it ends with, on the goroutine of
// the operation. It is not called for errors that are returned as they are, permanent or refused by If, nor when ctx
// ends: then it is the caller who gives up.
func OnGiveUp(f func(context.Context, *Error)) Option {
	if f == nil {
		panicf("OnGiveUp", "f is nil")
	}
	return func(c *config) { c.onGiveUp = append(c.onGiveUp, f) }
}

// OnRecovered calls f when what had failed works again, after at least one failure and once for each outage: when a
// call succeeds; when a stream delivers the first value of an attempt, before the consumer gets it, or ends well
// without one; in Attempts at Reset or a good end. It is how the consumer of a stream knows that there may be a gap. It
// is called on the goroutine of the operation, and not for an operation whose context has ended.
func OnRecovered(f func(context.Context, Recovery)) Option {
	if f == nil {
		panicf("OnRecovered", "f is nil")
	}
	return func(c *config) { c.onRecovered = append(c.onRecovered, f) }
}

// OnDone calls f once for each operation, however it ends: at the first try, with an error that is returned as it is,
// given up, or cancelled. A subscription to a retried stream is one operation. It is called on the goroutine of the
// operation, after all other hooks; not if a panic ends the operation.
func OnDone(f func(context.Context, Result)) Option {
	if f == nil {
		panicf("OnDone", "f is nil")
	}
	return func(c *config) { c.onDone = append(c.onDone, f) }
}

// BeforeFirstItem does not retry an attempt that has delivered values: its error is returned as it is. It is for
// streams whose values cannot be delivered twice.
func BeforeFirstItem() Option { return func(c *config) { c.beforeFirstItem = true } }

// ResetAfter starts the count again when an attempt ran for at least d before it failed. With the option WithClock a
// stream's attempt is measured from the answer that started it to its failure. d must be more than 0.
func ResetAfter(d time.Duration) Option {
	if d <= 0 {
		panicf("ResetAfter", "d is %v, want more than 0", d)
	}
	return func(c *config) { c.resetAfter = d }
}

// ResetAfterItems starts the count again when an attempt delivered at least n values before it failed. It is for
// streams: a call delivers none. n must be more than 0.
func ResetAfterItems(n int64) Option {
	if n <= 0 {
		panicf("ResetAfterItems", "n is %d, want more than 0", n)
	}
	return func(c *config) { c.resetAfterItems = n }
}

// ResetOn makes s.Fire end the policy's waits and start the counts of its operations again.
func ResetOn(s *Signal) Option {
	if s == nil {
		panicf("ResetOn", "s is nil")
	}
	return func(c *config) { c.signals = append(c.signals, s) }
}

// WithClock makes the policy use the clock c, any clock that stream.WithClock takes. It goes before the clock of the
// context, which goes before the system's. A deadline of ctx is held against it: one that was made on another clock,
// the system's say, means little to a mock.
func WithClock[T interface{ Stop() bool }](c interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) T
}) Option {
	if c == nil {
		panicf("WithClock", "c is nil")
	}
	clock := stream.ClockFrom(stream.WithClock(context.Background(), c))
	return func(c *config) { c.clock = clock }
}

// WithRand makes the policy draw from f, which returns numbers in [0,1) and must be safe for concurrent use, instead of
// math/rand/v2 and of Tiled's golden-ratio sequence. It is called once for each retry, with a Tiled backoff once for
// the retries in a row, and never for a backoff that is not random.
func WithRand(f func() float64) Option {
	if f == nil {
		panicf("WithRand", "f is nil")
	}
	return func(c *config) { c.rand = f }
}

// WithBudget makes each retry take its cost from b, and give up when b has not enough.
func WithBudget(b *Budget) Option {
	if b == nil {
		panicf("WithBudget", "b is nil")
	}
	return func(c *config) { c.budget = b }
}

// MaxRetryAfter gives up when an error dictates a delay of more than d: coming back earlier than asked is no answer.
func MaxRetryAfter(d time.Duration) Option {
	notNegative("MaxRetryAfter", d)
	return func(c *config) { c.maxRetryAfter = d }
}

func notNegative(option string, d time.Duration) {
	if d < 0 {
		panicf(option, "d is %v, want at least 0", d)
	}
}

func panicf(where, format string, args ...any) {
	panic("retry: " + where + ": " + fmt.Sprintf(format, args...))
}

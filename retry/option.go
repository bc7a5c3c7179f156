package retry

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/stream"
)

// Option is one setting of a Policy. In the comments of the options, "in a row" means since the start or the last
// reset. Without a Reset option the count never restarts, whatever was delivered. With several Reset options, any of
// them restarts it. An option that does not apply to what is retried has no effect: one policy may serve streams and
// calls.
type Option func(*config)

// JoinOptions returns an option that applies all of these, in their order.
func JoinOptions(opts ...Option) Option { return join("JoinOptions", slices.Clone(opts)) }

func join(where string, opts []Option) Option {
	if i := slices.IndexFunc(opts, func(o Option) bool { return o == nil }); i >= 0 {
		panicf(where, "opts[%d] is nil", i)
	}
	return func(c *config) {
		for _, o := range opts {
			o(c)
		}
	}
}

// WithBackoff sets the policy's backoff to b.
func WithBackoff(b backoff.Backoff) Option {
	return func(c *config) { c.curve = curveOf(b, nil) }
}

// BackoffFor uses b for the delay after a failure that match accepts, with the number of retries in a row that the
// policy's own backoff would use. So calls that a server throttles can wait longer than calls that broke. If several
// BackoffFor accept a failure, the last one applies. b is also the backoff that StopAt looks at and that spreads a
// delay which the failure dictates. A decorrelated backoff continues from the delay before, whichever backoff made it.
//
// match is called at most once for each failure, when the policy computes a delay. BackoffFor has no text form.
func BackoffFor(match func(error) bool, b backoff.Backoff) Option {
	notNil("BackoffFor", "match", match == nil)
	return func(c *config) { c.curves = append(slices.Clip(c.curves), curveOf(b, match)) }
}

// Limit allows at most n retries in a row; 0 allows none.
func Limit(n int) Option { return theLimit.to(int64(n)) }

// LimitFor gives up, with ErrLimit, after a failure that match accepts, if there were n retries in a row or more; 0
// allows none after such a failure. So a call that a server denies can be tried less often than one that breaks. The
// retries count whatever they were for: after two timeouts LimitFor(denied, 2) allows none. If several LimitFor accept
// a failure, the last one applies. Limit applies too: LimitFor only lowers it.
//
// match is called at most once for each failure, before the wait is computed. LimitFor has no text form.
func LimitFor(match func(error) bool, n int) Option {
	notNil("LimitFor", "match", match == nil)
	if n < 0 {
		panicf("LimitFor", "n is %d, want at least 0", n)
	}
	return func(c *config) { c.limits = append(slices.Clip(c.limits), limit{match, int64(n)}) }
}

// limit is a limit for the failures that match accepts.
type limit struct {
	match func(error) bool
	n     int64
}

// limitAfter returns the maximum number of retries in a row after the failure. It is negative if there is none.
func (c *config) limitAfter(failure error) int64 {
	for i := len(c.limits) - 1; i >= 0; i-- { // slices.Backward allocates where it is not inlined
		if l := c.limits[i]; l.match(failure) {
			if c.limit < 0 || l.n < c.limit {
				return l.n
			}
			break
		}
	}
	return c.limit
}

// Within gives up if a retry would start later than d after the first failure in a row. It does not limit the attempts
// themselves: with Within(10 s) and AttemptTimeout(30 s), two attempts that hang take a minute. To limit the whole
// operation, give ctx a deadline.
func Within(d time.Duration) Option { return theWithin.to(d) }

// StopAt gives up if the backoff before jitter, its Ceiling, is d or more. A delay that an error dictates does not
// count.
func StopAt(d time.Duration) Option { return theStopAt.to(d) }

// AttemptTimeout gives each call its own deadline, d after the call began: of Do, Run, MapRetry, HTTP clients, unary
// gRPC calls and jobs. The call's context is cancelled when the call returns. A call that fails because of it is
// retried like any other. It also ends an open of a Shared that takes longer than d. It has no effect on streams (use
// Stream.Timeout) and on Attempts, whose loop creates no contexts. d must be more than 0.
func AttemptTimeout(d time.Duration) Option { return theAttemptTimeout.to(d) }

// If retries only the errors for which retryable returns true. It is called once for each failure, before any wait,
// unless the failure is permanent or ctx has ended. An error that it refuses is returned unchanged.
func If(retryable func(error) bool) Option {
	notNil("If", "retryable", retryable == nil)
	return func(c *config) { c.retryable = retryable }
}

// OnRetry calls f once for each scheduled retry, before its wait, on the operation's goroutine. A cancellation may
// still prevent the retry, and a reset may shorten its delay.
func OnRetry(f func(context.Context, Event)) Option {
	notNil("OnRetry", "f", f == nil)
	return func(c *config) { c.onRetry = append(slices.Clip(c.onRetry), f) }
}

// OnGiveUp calls f once when the policy gives up an operation, with the operation's *Error, on the operation's
// goroutine. It is not called for errors that are returned unchanged, permanent or refused by If. It is not called when
// ctx ends, because then the caller gives up.
func OnGiveUp(f func(context.Context, *Error)) Option {
	notNil("OnGiveUp", "f", f == nil)
	return func(c *config) { c.onGiveUp = append(slices.Clip(c.onGiveUp), f) }
}

// OnRecovered calls f once for each outage, when something that had failed works again: a call succeeds; an attempt of
// a stream delivers its first value, before the consumer receives it, calls stream.Works or ends without an error; in
// Attempts, Reset is called or a turn succeeds. So the consumer of a stream learns that there may be a gap. f is called
// on the operation's goroutine, or on the one that calls stream.Works. It is not called for an operation whose context
// has ended.
//
// The hooks of one operation are called one at a time. While one runs, the subscription's other goroutines that have
// something to report wait: a hook that waits for one of them never returns.
func OnRecovered(f func(context.Context, Recovery)) Option {
	notNil("OnRecovered", "f", f == nil)
	return func(c *config) { c.onRecovered = append(slices.Clip(c.onRecovered), f) }
}

// OnWorks calls f once for each attempt that works, also for the first one, with the attempt's number, at its first
// sign of life: a stream's first value, before the consumer receives it, a bookmark, a call of stream.Works, an end
// without an error; a call's success; in Attempts, Reset or a turn that succeeds. f is called after the OnRecovered
// hooks, where they are called. It is not called once the operation's context has ended. With OnOutage and OnDone it is
// enough for a readiness probe.
//
// In a handler that is a function, or that embeds the policy, f is called for the attempts after the first failure that
// the policy receives.
func OnWorks(f func(ctx context.Context, attempt int)) Option {
	notNil("OnWorks", "f", f == nil)
	return func(c *config) { c.onWorks = append(slices.Clip(c.onWorks), f) }
}

// OnDone calls f once for each operation, however it ends: with success at the first attempt, with an error that is
// returned unchanged, given up, or cancelled. A subscription to a retried stream is one operation. f is called on the
// operation's goroutine, after all other hooks. It is not called if a panic ends the operation.
func OnDone(f func(context.Context, Result)) Option {
	notNil("OnDone", "f", f == nil)
	return func(c *config) { c.onDone = append(slices.Clip(c.onDone), f) }
}

// BeforeFirstItem does not retry an attempt that has delivered values: its error is returned unchanged. It is for
// streams whose values must not be delivered twice. It has no effect on calls, which deliver no values.
func BeforeFirstItem() Option { return func(c *config) { c.beforeFirstItem = true } }

// ResetAfter restarts the count when an attempt ran for at least d before it failed. With the option WithClock, a
// stream's attempt is measured from the answer that started it to its failure. d must be more than 0.
func ResetAfter(d time.Duration) Option { return theResetAfter.to(d) }

// ResetAfterItems restarts the count when an attempt delivered at least n values before it failed. It is for streams.
// It has no effect on calls (Do, Run, Attempts, MapRetry, HTTP and gRPC clients, jobs), which deliver no values. n must
// be more than 0.
func ResetAfterItems(n int64) Option { return theResetAfterItems.to(n) }

// ResetOn makes s.Fire end the policy's waits and restart the counts of its operations.
func ResetOn(s *Signal) Option {
	notNil("ResetOn", "s", s == nil)
	return func(c *config) { c.signals = append(slices.Clip(c.signals), s) }
}

// WithClock makes the policy use the clock c, any clock that stream.WithClock accepts. It takes precedence over the
// clock of the context, which takes precedence over the system clock. The policy compares a deadline of ctx with this
// clock. So a deadline of another clock, such as the system clock, is not useful with a mock clock.
func WithClock[T interface{ Stop() bool }](c interface {
	Now() time.Time
	AfterFunc(d time.Duration, f func()) T
}) Option {
	notNil("WithClock", "c", c == nil)
	clock := stream.ClockFrom(stream.WithClock(context.Background(), c))
	return func(c *config) { c.clock = clock }
}

// WithRand makes the policy draw from f instead of math/rand/v2 and of Tiled's golden-ratio sequence. f must return
// numbers in [0,1) and be safe for concurrent use. It is called at most once for each failure; with a Tiled backoff
// once for all retries in a row; never for a backoff that is not random.
func WithRand(f func() float64) Option {
	notNil("WithRand", "f", f == nil)
	return func(c *config) { c.rand = f }
}

// WithBudget makes each retry take its cost from b. The policy gives up at once if b has less than that; a loop of your
// own around the operation then needs a wait, see Budget.
func WithBudget(b *Budget) Option {
	notNil("WithBudget", "b", b == nil)
	if b.cost == 0 {
		panicf("WithBudget", "b is the zero Budget, want one of NewBudget")
	}
	return func(c *config) { c.budget = b }
}

// MaxRetryAfter gives up if an error dictates a delay of more than d. A retry before the dictated time would be of no
// use.
func MaxRetryAfter(d time.Duration) Option { return theMaxRetryAfter.to(d) }

func notNil(where, name string, isNil bool) {
	if isNil {
		panicf(where, "%s is nil", name)
	}
}

func panicf(where, format string, args ...any) {
	panic("retry: " + where + ": " + fmt.Sprintf(format, args...))
}

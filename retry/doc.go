// Package retry decides whether and when an operation is tried again.
//
//	var policy = retry.New(
//		backoff.Exponential(100*time.Millisecond, 2).Cap(10*time.Second).Jitter(jitter.Full),
//		retry.Limit(4), retry.AttemptTimeout(10*time.Second), retry.Log(nil))
//
//	user, err := retry.Do(ctx, policy, fetch) // fetch is a func(context.Context) (User, error)
//
// A [Policy] has a backoff.Backoff, which computes the delays, and perhaps others for certain failures (BackoffFor).
// Its options say
//
//   - what is retried: If, BeforeFirstItem;
//   - when to give up: Limit, LimitFor, Within, StopAt, MaxRetryAfter, WithBudget; the context's deadline counts too;
//   - how long an attempt may take: AttemptTimeout;
//   - when the count restarts: ResetAfter, ResetAfterItems, ResetOn;
//   - who hears of it: OnAttempt, OnWorks, OnRetry, OnOutage, OnGiveUp, OnRecovered, OnDone, Log, under a Name.
//
// A Policy is an immutable value. The same policy retries
//
//   - a function: [Do], [Run];
//   - a loop: [Policy.Attempts];
//   - what many callers share, such as a token: [Shared];
//   - a stream: src.RetryWhen(policy), because a Policy is a stream.RetryHandler;
//   - code with its own way to make attempts or to wait: an [Operation], with which the others are written too.
//
// Invalid arguments (nil, a negative number) panic when the option or the policy is made, with the argument's name.
//
// # Words
//
// An attempt is one run, a failure an attempt that ended in an error, a retry an attempt after the first. The delay is
// the wait before a retry. "In a row" means since the start or the last reset. An outage begins with the first failure
// after something worked, and ends when something works again (stream.Works says when an attempt of a stream does).
//
// # Order
//
// After a failure the first of these that applies decides:
//
//  1. ctx has ended: the operation ends.
//  2. The error is permanent, the predicate (If) refuses it, or the attempt has delivered values, under
//     BeforeFirstItem: it is returned unchanged.
//  3. There are no retries (WithoutRetries), or the limit is reached: the policy gives up. Before that ResetAfter,
//     ResetAfterItems or a Signal may restart the count.
//  4. The delay, dictated or drawn, exceeds MaxRetryAfter, StopAt or Within, or would pass the context's deadline: it
//     gives up, without waiting.
//  5. The budget has no token: it gives up.
//  6. Else it calls Log and the OnRetry hooks, waits, checks the context again, and begins the next attempt.
//
// A policy gives up with an [*Error]. A stream whose context has ended, and stream.ErrNotRestartable, have errors of
// their own. A planned end ([Planned]) is no failure.
//
// # Layers
//
// A policy retries the *Error of an inner policy too: three layers of three retries each make 64 calls. Retry in one
// layer, and call the others under [WithoutRetries]. No layer retries a permanent error.
//
// # Time
//
// Waits use the policy's own clock (WithClock), else the clock of the context (stream.WithClock), else the system
// clock, which is exact under testing/synctest.
package retry

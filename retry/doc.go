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
// After a failure a policy checks, in this order: Has ctx ended? Is the error permanent? Does the predicate refuse it?
// Has the attempt delivered values, under BeforeFirstItem? Does the count of retries restart? Are there no retries
// (WithoutRetries)? Is the limit reached? How long is the delay, dictated or drawn? Does it exceed MaxRetryAfter,
// StopAt or Within? Does it exceed the context's deadline (then the policy does not wait)? Does the budget have a
// token? Then it calls Log and the OnRetry hooks, waits, checks the context again, and begins the next attempt.
//
// A permanent error is returned unchanged, and so is one that the predicate or BeforeFirstItem refuses. Any other error
// is an [*Error], unless it is stream.ErrNotRestartable of a stream, or of a stream whose context has ended. A planned
// end ([Planned]) is no failure.
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

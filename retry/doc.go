// Package retry decides whether and when to try again.
//
// A [Policy] is a backoff.Backoff, which says how long to wait, plus when to give up (Limit, Within, StopAt, the
// context's deadline, a Budget), when to start over (ResetAfter, ResetAfterItems, ResetOn) and which hooks to call
// (OnRetry, OnGiveUp, OnRecovered, OnDone, Log). It is an immutable value; what one operation has been through is a
// [State]. The same policy drives
//
//   - a function: [Do], [Run];
//   - a loop: [Policy.Attempts];
//   - a stream: src.RetryWhen(policy), for a Policy is a stream.RetryObserver;
//   - anything that keeps its own time: [Policy.Decide] is the pure core, failures and times in, delays out.
//
// Invalid arguments (nil, a negative number) panic when the option or the policy is made, with the argument's name.
//
// # Words
//
// An attempt is one run, a failure an attempt that ended in an error, a retry an attempt after the first. The delay is
// the wait before a retry. "In a row" is since the start or the last reset. An outage begins with the first failure
// since something last worked, and ends when something works again.
//
// # Order
//
// After a failure a policy looks, in this order: Has ctx ended? Is the error permanent? Does the predicate refuse it?
// Has the attempt delivered values, under BeforeFirstItem? Does the count of retries start again? Are there no retries
// (WithoutRetries)? Is the limit reached? How long is the delay, dictated or drawn? Does it pass MaxRetryAfter, StopAt
// or Within? Would it pass the context's deadline (then it does not sleep)? Is there a token in the budget? Then come
// Log and the OnRetry hooks, the wait, once more the context, and the next attempt.
//
// A permanent error, one that the predicate refuses and one that BeforeFirstItem refuses are returned as they are;
// every other end is an [*Error].
//
// # Layers
//
// A policy retries whatever error it gets, an inner policy's *Error too: three layers of three retries each make 64
// calls. Retry in one layer, and call the others under [WithoutRetries]. A permanent error is retried by no layer.
//
// # Time
//
// Waits are on the policy's own clock (WithClock), else on that of the context (stream.WithClock), else on the
// system's, where testing/synctest makes them exact. One operation's waits share one timer, and a wait of 0 has none.
package retry

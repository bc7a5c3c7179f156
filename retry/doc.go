// Package retry decides whether and when to try again.
//
// A [Policy] is a backoff.Backoff, which says how long to wait, plus when to give up (Limit, Within, StopAt, the
// context's deadline, a Budget), when to start over (ResetAfter, ResetAfterItems, ResetOn) and whom to tell (OnRetry,
// OnGiveUp). It is an immutable value; what one operation has been through is a [Row]. The same policy drives
//
//   - a function: [Do], [Run];
//   - a loop: [Policy.Attempts];
//   - a stream: src.RetryWhen(policy), for a Policy is a stream.RetryHandler;
//   - anything that keeps its own time: [Policy.Decide] is the pure core, failures and times in, delays out.
//
// # Words
//
// An attempt is one run, a failure an attempt that ended in an error, a retry an attempt after the first. The delay is
// the wait before a retry. "In a row" is since the start or the last reset.
//
// # Order
//
// After a failure a policy asks, in this order: has ctx ended? is the error permanent? does the predicate refuse it?
// does the row start again? is the limit reached? how long is the delay, dictated or drawn? does it pass MaxRetryAfter,
// StopAt or Within? would it pass the context's deadline (then it does not sleep)? is there a token in the budget? Then
// come the OnRetry hooks, the wait, once more the context, and the next attempt.
//
// A refused and a permanent error are returned as they are; every other end is an [*Error].
//
// # Time
//
// Waits are on the policy's own clock (WithClock), else on that of the context (stream.WithClock), else on the
// system's, where testing/synctest makes them exact. One operation's waits share one timer, and a wait of 0 has none.
package retry

package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// What an Error has as its Cause when it was the policy that gave up. If ctx has ended it is context.Cause(ctx).
var (
	// ErrExhausted: the next retry would go past Limit, Within, StopAt or MaxRetryAfter.
	ErrExhausted = errors.New("retries exhausted")
	// ErrDeadline: the wait would not end before the context's deadline, so it was not begun. It matches
	// context.DeadlineExceeded too.
	ErrDeadline error = deadlineError{}
	// ErrBudget: the budget had no token for the retry.
	ErrBudget = errors.New("retry budget spent")
	// ErrRefused: the error is marked as Permanent, or the predicate refuses it. An operation ends with such an error
	// itself; this is the Cause where an *Error is asked for, as operators.MapRetry's DeadLetter does.
	ErrRefused = errors.New("not retryable")
)

type deadlineError struct{}

func (deadlineError) Error() string { return "the wait would pass the context's deadline" }
func (deadlineError) Unwrap() error { return context.DeadlineExceeded }
func (deadlineError) Timeout() bool { return true }

// Error is how a policy gives up. errors.Is and errors.As reach its Cause and the Last error.
type Error struct {
	// Cause is why: ErrExhausted, ErrDeadline, ErrBudget or context.Cause(ctx).
	Cause error
	// Last is the error of the last attempt, nil if there was none.
	Last error
	// Attempts is how many attempts were made, over all rows.
	Attempts int
	// Elapsed is the time since the first failure.
	Elapsed time.Duration
}

// Error says why, after how many attempts, and what the last one said.
func (e *Error) Error() string {
	attempts := "attempts"
	if e.Attempts == 1 {
		attempts = "attempt"
	}
	text := fmt.Sprintf("retry: %v: %d %s in %v", e.Cause, e.Attempts, attempts, e.Elapsed)
	if e.Last != nil {
		text += fmt.Sprintf(": %v", e.Last)
	}
	return text
}

// Unwrap returns Cause and Last, those that are there.
func (e *Error) Unwrap() []error {
	errs := make([]error, 0, 2)
	for _, err := range []error{e.Cause, e.Last} {
		if err != nil {
			errs = append(errs, err)
		}
	}
	return errs
}

// Timeout reports whether the cause or the last error is a timeout, by a method Timeout() bool of its own: so a net.Error
// stays one to those who ask, as url.Error does.
func (e *Error) Timeout() bool {
	type timeout interface {
		error
		Timeout() bool
	}
	for _, err := range e.Unwrap() {
		if t, ok := errors.AsType[timeout](err); ok && t.Timeout() {
			return true
		}
	}
	return false
}

// Permanent marks err as one that no retry can help: no policy retries it, and the caller sees err itself. It is
// stream.Permanent. Permanent(nil) is nil.
func Permanent(err error) error { return stream.Permanent(err) }

// RetryAfter returns err with the delay that it dictates: the retry comes no earlier than d from now, and by the
// backoff's jitter a little later (backoff.Backoff.Dictated). Any error in whose chain one has a method
// RetryAfter() time.Duration does the same. A delay of 0 or less dictates nothing: the backoff's own delay holds, so
// that an error without an opinion makes no hot loop. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryAfterError{err, d}
}

type retryAfterError struct {
	err   error
	after time.Duration
}

func (e *retryAfterError) Error() string             { return e.err.Error() }
func (e *retryAfterError) Unwrap() error             { return e.err }
func (e *retryAfterError) RetryAfter() time.Duration { return e.after }

// dictated returns the delay that err dictates, 0 for none.
func dictated(err error) time.Duration {
	if e, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return max(e.RetryAfter(), 0)
	}
	return 0
}

// isSimple reports whether err is neither permanent nor dictates a delay, as can be seen of most errors without
// walking their chain.
func isSimple(err error) bool {
	switch err.(type) {
	case interface{ Unwrap() error }, interface{ Unwrap() []error }, interface{ As(any) bool }, interface{ RetryAfter() time.Duration }:
		return false
	}
	return true
}

// Event is a retry that has been scheduled.
type Event struct {
	// N counts the retries in a row, this one included.
	N int
	// Err is the failure that is retried.
	Err error
	// Delay is the wait before the retry.
	Delay time.Duration
	// Elapsed is the time since the first failure in the row.
	Elapsed time.Duration
}

package retry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/words"
	"github.com/retrywhen/retrywhen/stream"
)

// These are the values of an Error's Cause if the policy gave up. If ctx has ended, Cause matches
// context.Cause(ctx).
var (
	// ErrExhausted matches the four errors of limits: ErrLimit, ErrWithin, ErrStopAt and ErrMaxRetryAfter.
	ErrExhausted = errors.New("retries exhausted")
	// ErrDeadline: the wait would not end before the context's deadline, so it did not begin. It matches
	// context.DeadlineExceeded too.
	ErrDeadline error = deadlineError{}
	// ErrBudget: the budget had no token for the retry. The operation ends at once, so a loop around it must wait: see
	// Budget.
	ErrBudget = errors.New("retry budget spent")
	// ErrRefused: the error is marked as Permanent, or the predicate refuses it. An operation returns such an error
	// itself. ErrRefused is the Cause if an *Error is needed, as for operators.MapRetry's DeadLetter.
	ErrRefused = errors.New("not retryable")
)

// The limit that was reached. The Cause of an Error matches one of these with errors.Is, and ErrExhausted. Its text
// contains the number and, of a limit of delays, the delay that exceeds it: "delay limit of 10s, the next wait would be
// 16s".
var (
	// ErrLimit: Limit or LimitFor allows no further retry; under WithoutRetries there is none.
	ErrLimit error = &sentinel{"limit of retries", "limit"}
	// ErrWithin: the retry would start later than Within allows.
	ErrWithin error = &sentinel{"time limit of the retries", "time limit"}
	// ErrStopAt: the backoff has grown to StopAt.
	ErrStopAt error = &sentinel{"delay limit", "delay limit"}
	// ErrMaxRetryAfter: an error dictates a longer delay than MaxRetryAfter.
	ErrMaxRetryAfter error = &sentinel{"limit of dictated delays", "limit of dictated delays"}
)

// sentinel is the error of one kind of limit.
type sentinel struct {
	text string
	name string // in a text with the number
}

func (s *sentinel) Error() string { return s.text }
func (s *sentinel) Unwrap() error { return ErrExhausted }

// reached is a limit with its number: of retries, or of nanoseconds; for limits of a delay also the delay that exceeds
// it.
type reached struct {
	limit error // a sentinel
	n     int64
	next  time.Duration
}

func (r reached) Error() string {
	number := words.Duration(time.Duration(r.n))
	if r.limit == ErrLimit {
		number = plural(r.n, "retry", "retries")
	}
	if r.next > 0 {
		number += ", the next wait would be " + words.Duration(r.next)
	}
	return r.limit.(*sentinel).name + " of " + number
}
func (r reached) Unwrap() error { return r.limit }

func plural(n int64, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}

type deadlineError struct{}

func (deadlineError) Error() string { return "the wait would pass the context's deadline" }
func (deadlineError) Unwrap() error { return context.DeadlineExceeded }
func (deadlineError) Timeout() bool { return true }

// ErrWithoutRetries: the context is one of WithoutRetries. It matches ErrLimit and ErrExhausted.
var ErrWithoutRetries error = &reached{limit: ErrLimit}

// Error is the error with which a policy gives up. errors.Is and errors.As find its Cause and the Last error.
type Error struct {
	// Cause is the reason: an error that matches ErrExhausted, ErrDeadline, ErrBudget or ErrRefused, or one that
	// matches both context.Cause(ctx) and ctx.Err().
	Cause error
	// Last is the last failure, nil if there was none. An attempt that returned only the end of ctx is not one, unless
	// there was no failure before.
	Last error
	// Attempts is the number of attempts, over all resets.
	Attempts int
	// Elapsed is the time since the first failure, over all resets.
	Elapsed time.Duration
	// Retries is the number of retries in a row at the end.
	Retries int
	// Down is the time since the first failure in a row.
	Down time.Duration
	// Name is the policy's name (the option Name), "" if it has none.
	Name string
}

// Error returns the cause, the number of failures in a row, their time, and the last error; then, if the count was
// restarted, the number of all attempts. If the policy has a name, the text begins with it. Times are rounded:
//
//	retry: limit of 3 retries: 4 failures in 12s: connection refused (1003 attempts in 749h)
func (e *Error) Error() string {
	name := ""
	if e.Name != "" {
		name = e.Name + ": "
	}
	if e.Attempts == 0 {
		return fmt.Sprintf("retry: %s%v: no attempt was made", name, e.Cause)
	}
	if e.Last == nil && e.Retries == 0 { // the attempts have worked
		return fmt.Sprintf("retry: %s%v: after %s", name, e.Cause, plural(int64(e.Attempts), "attempt", "attempts"))
	}
	text := fmt.Sprintf("retry: %s%v: %s in %s", name, e.Cause, plural(int64(e.Retries)+1, "failure", "failures"), rounded(e.Down))
	if e.Last != nil {
		text += fmt.Sprintf(": %v", e.Last)
	}
	if e.Attempts != e.Retries+1 {
		text += fmt.Sprintf(" (%s in %s)", plural(int64(e.Attempts), "attempt", "attempts"), rounded(e.Elapsed))
	}
	return text
}

// rounded returns d's text, to a millisecond from a second on, to a microsecond from a millisecond on.
func rounded(d time.Duration) string {
	switch {
	case d >= time.Second:
		d = d.Round(time.Millisecond)
	case d >= time.Millisecond:
		d = d.Round(time.Microsecond)
	}
	return words.Duration(d)
}

// LogValue returns the fields as a group, for log/slog.
func (e *Error) LogValue() slog.Value {
	attrs := []slog.Attr{slog.Any("cause", e.Cause), slog.Any("last", e.Last),
		slog.Int("retries", e.Retries), slog.Duration("down", e.Down),
		slog.Int("attempts", e.Attempts), slog.Duration("elapsed", e.Elapsed)}
	if e.Name != "" {
		attrs = append(attrs, slog.String("name", e.Name))
	}
	return slog.GroupValue(attrs...)
}

// Unwrap returns Cause and Last, without a nil one.
func (e *Error) Unwrap() []error {
	return slices.DeleteFunc([]error{e.Cause, e.Last}, func(err error) bool { return err == nil })
}

// Timeout reports whether the cause or the last error is a timeout by its own method Timeout() bool.
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

// Permanent marks err as an error that no retry can help. It is stream.Permanent: no policy of any layer retries the
// error, because the returned error keeps the mark. Permanent(nil) is nil.
func Permanent(err error) error { return stream.Permanent(err) }

// IsPermanent reports whether err is marked as Permanent, anywhere in its tree.
func IsPermanent(err error) bool { return ending.IsPermanent(err) }

// Planned marks err as an end that is no failure, if the attempt has worked before: a server's GOAWAY, the age that was
// agreed for a session, a watch that its server ends every few minutes. A policy does not count it: it costs no token
// of the budget, and If, OnRetry and OnOutage are not called. OnAttempt is called, and Log writes DEBUG instead of
// WARN. The next attempt begins after the first delay of the backoff, or the delay that the error dictates. The
// operation ends if the first failure of all would end it: by a Permanent error, WithoutRetries, Limit(0), StopAt,
// MaxRetryAfter, the deadline. BeforeFirstItem returns the error. An attempt has worked if it has delivered a value or
// a bookmark, or called stream.Works, or Attempt.Reset. The end of one that has not worked is a failure, marked or not.
//
// Mark what the protocol announces, not each EOF: a server that accepts, sends one value and closes would be called
// after the first delay forever, unseen by Log, Limit and the budget. If nothing announces the end, the age of the
// connection may do, with a first delay of a second or more:
//
//	if time.Since(opened) > 4*time.Minute {
//		err = retry.Planned(err)
//	}
//
// The mark has no effect in Do, Run and operators.MapRetry, whose calls work only if they succeed. Planned(nil) is nil.
func Planned(err error) error { return ending.Planned(err) }

// IsPlanned reports whether err is marked by Planned, anywhere in its tree.
func IsPlanned(err error) bool { return ending.IsPlanned(err) }

// RetryAfter returns err with a delay that it dictates, counted from the failure: the retry comes no earlier, unless a
// Signal fires, and with jitter up to 15 % later (backoff.Backoff.Dictated). Any error that has a method RetryAfter()
// time.Duration, or wraps one, does the same. A delay of 0 or less dictates nothing: the backoff's own delay applies,
// so there is no hot loop. RetryAfter(nil, d) is nil.
func RetryAfter(err error, d time.Duration) error {
	if err == nil {
		return nil
	}
	return &retryAfterError{err, d}
}

type retryAfterError struct {
	error
	after time.Duration
}

func (e *retryAfterError) Unwrap() error             { return e.error }
func (e *retryAfterError) RetryAfter() time.Duration { return e.after }

// dictated returns the delay that err dictates, 0 or less for none.
func dictated(err error) time.Duration {
	if e, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](err); ok {
		return e.RetryAfter()
	}
	return 0
}

// isSimple reports whether err is neither permanent nor dictates a delay. For most errors it does not have to walk the
// chain.
func isSimple(err error) bool {
	switch err.(type) {
	case interface{ Unwrap() error }, interface{ Unwrap() []error }, interface{ As(any) bool }, interface{ RetryAfter() time.Duration }:
		return false
	}
	return true
}

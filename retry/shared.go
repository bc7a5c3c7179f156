package retry

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is what Shared's Do and Try return after Close. It is marked as Permanent.
var ErrClosed = Permanent(errors.New("retry: Shared: it is closed"))

// Shared is a value that many callers use at once, and that is opened anew for all of them when one finds it broken: a
// token, a session, a connection.
//
//	token := retry.NewShared(policy, refresh) // policy has an AttemptTimeout
//	err := token.Do(ctx, func(ctx context.Context, t string) error {
//		err := call(ctx, t)
//		if isUnauthorized(err) {
//			return token.Broken(err) // one caller refreshes it, all wait, and each calls once more
//		}
//		return err
//	})
//
// One open runs at a time, whoever needs the value, and its failures are one row for all callers: the policy's delays
// lie between any two opens, also if each caller gives up early. Shared starts no timer, and no goroutine but that of
// an open and the pause before it. The pause ends when nobody waits; the open does not, because what it has got must
// not be lost.
//
// A value is proven when a call of f has returned nil with it. If it breaks before that, opening it has failed, and the
// policy's delay follows. A proven value that breaks begins a new row: the next open comes at once, but not before the
// first delay has passed since the value was opened.
//
// A Shared is made by NewShared; the zero Shared is not ready. It is safe for concurrent use. The functions that it is
// given, open, RenewAt's and CloseWith's, must not call Do, Try or Close of the same Shared: they may never return.
type Shared[T any] struct {
	config    *config
	open      func(context.Context) (T, error)
	closeWith func(T)           // nil: nothing
	renewAt   func(T) time.Time // nil: never

	current atomic.Pointer[value[T]] // what callers get, nil if there is none; changed with the lock

	mu       sync.Mutex  // for what follows; nothing but a few assignments runs while it is held
	unproven *value[T]   // the value that the row's running attempt has opened
	values   []*value[T] // those that were not disposed of
	round    *round      // what callers wait for; nil if nothing is on its way
	row      row
	busy     int           // values and rounds that are not over, and the first call of Close
	idle     chan struct{} // nil until Close is called; closed when busy is 0
}

// NewShared returns a Shared whose value open opens, under p. Nothing is opened before the first Do or Try.
//
// Give p an AttemptTimeout: until an open that hangs has returned, nobody gets a value, and nothing else ends it. An
// open that ignores its context is waited for. Give p a backoff with a Cap, and no Limit or Within, unless callers
// should get an error early: how long each caller waits is its context's deadline.
//
// open's context is the life of the value, not only of the call: bind a connection to it, and do not cancel a context
// derived from it when open returns. It ends
//
//   - at once when the value is found broken, with the mark's error as its cause;
//   - when a value that was renewed ahead of time has lost its last user;
//   - at Close, with ErrClosed;
//   - when open fails, or its AttemptTimeout has passed.
//
// It has the clock of the caller who began the open, and the number of the attempt in the row (stream.AttemptFrom), but
// no other value and no deadline of a caller. A new value may be opened before the last one is closed.
//
// p retries open, once for all callers; its hooks, its Log and its budget see opens, not calls. The error with which p
// gives up is returned to all who wait, a permanent or refused one unchanged. After that the next open comes no earlier
// than p's next delay, or the delay that the failure dictates, at most an hour; if it fails, p gives up again, and that
// delay does not grow. A caller does not wait for an open that is due only after its deadline (ErrDeadline), nor under
// WithoutRetries, nor for a dictated delay of more than MaxRetryAfter: it gets an *Error with the last failure at once.
// p's WithRand and BackoffFor are also used for these delays, and WithRand once for each value.
//
// A panic of open, or runtime.Goexit, reaches all who wait, or the process if nobody does.
func NewShared[T any](p Policy, open func(context.Context) (T, error)) *Shared[T] {
	notNil("NewShared", "open", open == nil)
	return &Shared[T]{config: p.settings(), open: open}
}

// CloseWith makes f close each value, once, when its last user has returned, on that user's goroutine, and returns s.
// f is also called for a value that open returns after its AttemptTimeout or after Close. The value's context has ended
// by then. CloseWith alone does not wake a call that hangs in a read of a broken connection: bind the connection to
// open's context. CloseWith must be called before the first Do.
func (s *Shared[T]) CloseWith(f func(T)) *Shared[T] {
	notNil("Shared.CloseWith", "f", f == nil)
	s.closeWith = f
	return s
}

// RenewAt opens the next value ahead of time, and returns s. f is called once for each value, when it has been opened,
// and returns when to renew it; the zero Time means never. The first Do or Try at that time or later begins an open and
// does not wait for it: callers get the old value until the new one is there. A failure is returned to nobody; the next
// Do after the policy's delay tries again. A renewal comes no earlier than the policy's first delay after the value was
// opened. RenewAt must be called before the first Do.
func (s *Shared[T]) RenewAt(f func(v T) time.Time) *Shared[T] {
	notNil("Shared.RenewAt", "f", f == nil)
	s.renewAt = f
	return s
}

// Do calls f with ctx and the value, which it opens or waits for if there is none, and returns f's error. The policy
// retries nothing of f: retry.Run around Do does.
//
// If f returns an error with s's mark (Broken), the value is broken: no call gets it any more. If it was there when Do
// came, Do waits for the next value and calls f once more. So a value that was opened for this call, and is refused, is
// not opened again and again. A mark at the top of the returned error is removed. An error without a mark, and a panic
// or runtime.Goexit of f, which reach the caller, change nothing about the value.
//
// If there is no value for f, Do returns ErrClosed or NewShared's errors; if ctx ends first, an *Error whose Cause
// matches context.Cause(ctx), with the last failure to open. errors.Is finds in it the mark's error too: to know why f
// failed, look at what f returned. f must not call Close, which waits for f.
//
// Inside an attempt of a stream use Try: Do's second call would begin at the position of the first.
func (s *Shared[T]) Do(ctx context.Context, f func(ctx context.Context, v T) error) error {
	notNil("Shared.Do", "f", f == nil)
	return s.call(ctx, f, true)
}

// Try is Do without the second call of f: whoever calls Try tries again, such as RetryWhen around a stream.
func (s *Shared[T]) Try(ctx context.Context, f func(ctx context.Context, v T) error) error {
	notNil("Shared.Try", "f", f == nil)
	return s.call(ctx, f, false)
}

// call is Do, or Try without again.
func (s *Shared[T]) call(ctx context.Context, f func(context.Context, T) error, again bool) error {
	for {
		v, there, err := s.acquire(ctx)
		if err != nil {
			return err
		}
		broken, end, err := s.use(ctx, v, f)
		switch {
		case !broken || !there || !again:
			return err
		case end != nil:
			return end
		}
		again = false
	}
}

// Broken marks err as the reason why the value is broken. Nothing happens until f returns the mark, anywhere in its
// error's tree. Mark only what the value itself is refused for: after a 403 that is the caller's own fault, all would
// wait for a new value. Other Shareds ignore the mark. The marked error has err's text, and errors.Is, errors.As and
// IsPermanent see err. Broken(nil) is nil.
func (s *Shared[T]) Broken(err error) error {
	if err == nil {
		return nil
	}
	return &mark{err, s}
}

// mark is the error of a broken value.
type mark struct {
	err error
	of  any // the *Shared
}

func (m *mark) Error() string { return m.err.Error() }
func (m *mark) Unwrap() error { return m.err }

// As is for findMark: to all others a mark is its error.
func (m *mark) As(target any) bool {
	f, ok := target.(*found)
	ok = ok && f.of == m.of
	if ok {
		f.mark = m
	}
	return ok
}

// found is the mark of a Shared that is looked for in the tree of an error.
type found struct {
	error
	of   any
	mark *mark
}

// Close ends s: callers that wait return ErrClosed at once, as every later call does. It ends the contexts of all
// values and of the open that runs, and returns when each f, open and call of CloseWith's function has returned. It has
// no time limit: end the callers' contexts first. A second Close waits too. Close inside f never returns.
func (s *Shared[T]) Close() {
	s.mu.Lock()
	if s.idle == nil {
		s.shut()
	} else {
		s.mu.Unlock()
	}
	<-s.idle
}

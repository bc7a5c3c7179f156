// Package ending computes the error with which a stream ends from the end of its context, the error of its source, or
// both. It also contains the marks of errors.
package ending

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
)

// ContextError returns nil until ctx ends, then an error that matches both context.Cause(ctx) and ctx.Err(): the cause
// itself if it matches both, else an error with the cause's text.
func ContextError(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	return both(context.Cause(ctx), err)
}

// IsOf reports whether err is the end of ctx, which has ended, as code under ctx reports it.
func IsOf(ctx context.Context, err error) bool {
	return Reaches(err, ctx.Err()) || Reaches(err, context.Cause(ctx))
}

// Error returns the failures of code that was run under ctx as one error, nil if there is none. Once ctx has ended, the
// error first matches what ContextError returns.
func Error(ctx context.Context, failures ...error) error {
	err := ContextError(ctx)
	for _, f := range failures {
		err = Join(err, f)
	}
	return err
}

// Join returns an error in which errors.Is finds both end and failure: the one that contains the other already, or else
// both of them. Either may be nil. A failure that only claims to be end, by its own method Is, is still added.
func Join(end, failure error) error {
	switch {
	case failure == nil || Reaches(end, failure):
		return end
	case end == nil || holds(failure, end):
		return failure
	}
	if e, ok := end.(*contextEnd); ok && holds(failure, e.cause) {
		return both(failure, e.err)
	}
	return &afterFailure{end, failure}
}

// Reaches is errors.Is for errors of any type. The comparison of two errors panics if their type contains, in an
// interface, a value that is not comparable.
func Reaches(err, target error) bool {
	defer func() { _ = recover() }()
	return errors.Is(err, target)
}

// Adds reports whether failure contains an error that end does not match, apart from errors that wrap others.
func Adds(end, failure error) bool {
	switch e := failure.(type) {
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return Adds(end, inner)
		}
	case interface{ Unwrap() []error }:
		if inner := e.Unwrap(); len(inner) > 0 {
			return slices.ContainsFunc(inner, func(err error) bool { return err != nil && Adds(end, err) })
		}
	}
	return !Reaches(end, failure)
}

// holds reports whether target itself is in err's tree. Unlike errors.Is it calls no method Is.
func holds(err, target error) bool {
	if reflect.ValueOf(err).Comparable() && err == target {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return holds(e.Unwrap(), target)
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), func(inner error) bool { return holds(inner, target) })
	}
	return false
}

// both returns cause if it contains err, else an error that contains both and has cause's text.
func both(cause, err error) error {
	if holds(cause, err) {
		return cause
	}
	return &contextEnd{cause, err}
}

// contextEnd is the end of a context that has its own cause.
type contextEnd struct{ cause, err error }

func (e *contextEnd) Error() string { return e.cause.Error() }

func (e *contextEnd) Unwrap() []error { return []error{e.cause, e.err} }

// afterFailure is an end and the failure that came before it.
type afterFailure struct{ end, failure error }

func (e *afterFailure) Error() string {
	return fmt.Sprintf("%v: after the failure: %v", e.end, e.failure)
}

func (e *afterFailure) Unwrap() []error { return []error{e.end, e.failure} }

// ErrNotRestartable is stream.ErrNotRestartable.
var ErrNotRestartable = errors.New("stream: the source cannot be run a second time")

// ErrEmpty is stream.ErrEmpty.
var ErrEmpty = errors.New("stream: the stream ended without a value")

// Until returns a yield that calls the given one until that returns false, and sets stopped then.
func Until[T any](stopped *bool, yield func(T) bool) func(T) bool {
	return func(v T) bool {
		*stopped = *stopped || !yield(v)
		return !*stopped
	}
}

// Consumer is the consumer of one run of a stream. It must be used on the run's goroutine.
type Consumer[T any] struct {
	yield   func(T) bool
	stopped bool
}

// NewConsumer returns the consumer with the given yield.
func NewConsumer[T any](yield func(T) bool) *Consumer[T] { return &Consumer[T]{yield: yield} }

// Deliver calls yield with v and returns its result. Once yield has returned false, Deliver returns false without a
// call.
func (c *Consumer[T]) Deliver(v T) bool {
	c.stopped = c.stopped || !c.yield(v)
	return !c.stopped
}

// Stopped reports whether the consumer has stopped.
func (c *Consumer[T]) Stopped() bool { return c.stopped }

// End returns the result of the run: nil if the consumer has stopped, else Error(ctx, failures...).
func (c *Consumer[T]) End(ctx context.Context, failures ...error) error {
	if c.stopped {
		return nil
	}
	return Error(ctx, failures...)
}

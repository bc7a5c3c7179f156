// Package ending makes the error with which a stream ends out of what has ended it: its context, its source, or both.
package ending

import (
	"context"
	"errors"
	"fmt"
	"reflect"
)

// ContextError returns nil while ctx lasts, then an error that matches both context.Cause(ctx) and ctx.Err(): the cause
// itself where it does so, else one with the cause's text.
func ContextError(ctx context.Context) error {
	err := ctx.Err()
	if err == nil {
		return nil
	}
	return both(context.Cause(ctx), err)
}

// Error returns failures, those of a piece of code that was run under ctx, as one error, nil if there is none; once ctx
// has ended the error matches what ContextError returns too, and that first.
func Error(ctx context.Context, failures ...error) error {
	err := ContextError(ctx)
	for _, f := range failures {
		err = Join(err, f)
	}
	return err
}

// Join returns an error through which errors.Is reaches both end and failure: the one that does already, or else both
// of them. Either may be nil. A failure that only claims to be the end, by a method Is of its own, is named beside it.
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

// Reaches is errors.Is for errors of any type: comparing two errors panics when their type holds, in an interface,
// something that cannot be compared.
func Reaches(err, target error) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return errors.Is(err, target)
}

// holds reports whether target itself is in err's tree. Other than errors.Is it calls no method Is.
func holds(err, target error) bool {
	if reflect.ValueOf(err).Comparable() && err == target {
		return true
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return holds(e.Unwrap(), target)
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if holds(inner, target) {
				return true
			}
		}
	}
	return false
}

// both returns cause, if it holds err, or one that holds both and has cause's text.
func both(cause, err error) error {
	if holds(cause, err) {
		return cause
	}
	return &contextEnd{cause, err}
}

// contextEnd is the end of a context that was given a cause of its own.
type contextEnd struct{ cause, err error }

func (e *contextEnd) Error() string { return e.cause.Error() }

func (e *contextEnd) Unwrap() []error { return []error{e.cause, e.err} }

// afterFailure is an end and the failure that came before it.
type afterFailure struct{ end, failure error }

func (e *afterFailure) Error() string {
	return fmt.Sprintf("%v: after the failure: %v", e.end, e.failure)
}

func (e *afterFailure) Unwrap() []error { return []error{e.end, e.failure} }

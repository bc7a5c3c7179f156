// Package ending makes the error with which a stream ends out of what has ended it: its context, its source, or both.
package ending

import (
	"context"
	"errors"
	"fmt"
)

// Of returns nil while ctx lasts, then its cause.
func Of(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// Under returns failures, those of a piece of code that was run under ctx, as one error, nil if there is none; once ctx
// has ended the error matches its cause too, and that first.
func Under(ctx context.Context, failures ...error) error {
	err := Of(ctx)
	for _, f := range failures {
		err = With(err, f)
	}
	return err
}

// With returns an error through which errors.Is reaches both end and failure: the one that does already, or else both
// of them. Either may be nil.
func With(end, failure error) error {
	switch {
	case failure == nil || end != nil && Reaches(end, failure):
		return end
	case end == nil || Reaches(failure, end):
		return failure
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

// afterFailure is an end and the failure that came before it.
type afterFailure struct{ end, failure error }

func (e *afterFailure) Error() string {
	return fmt.Sprintf("%v: after the failure: %v", e.end, e.failure)
}

func (e *afterFailure) Unwrap() []error { return []error{e.end, e.failure} }

package stream

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrywhen/retrywhen/internal/permanent"
)

// ErrNotRestartable is what a source returns that can be run only once, when it is run again. No operator retries it.
var ErrNotRestartable = errors.New("stream: the source cannot be run a second time")

// ErrTimeout is the failure that Timeout makes of a source that was silent for too long.
var ErrTimeout = errors.New("stream: timeout")

// Permanent marks err as one that no retry can help. RetryWhen, and all that retries in this library, never retries
// it and returns err itself, without the mark; a mark deeper in a chain of wrapped errors counts too, and then the
// whole chain is returned as it is. Permanent(nil) is nil.
//
// The marked error has err's text, and errors.Is and errors.As see err through it.
func Permanent(err error) error {
	return permanent.Mark(err)
}

// lastFailure is an error that ended a retried stream, with the failure that came before it.
type lastFailure struct{ end, failure error }

func (e *lastFailure) Error() string {
	return fmt.Sprintf("%v: after the failure: %v", e.end, e.failure)
}

func (e *lastFailure) Unwrap() []error { return []error{e.end, e.failure} }

// withFailure returns an error that reaches both end and failure with errors.Is: end itself when it does already, or
// when there is no failure.
func withFailure(end, failure error) error {
	if failure == nil || reaches(end, failure) {
		return end
	}
	if reaches(failure, end) {
		return failure
	}
	return &lastFailure{end, failure}
}

// reaches is errors.Is for errors of any type: comparing two errors panics when their type holds, in an interface,
// something that cannot be compared.
func reaches(err, target error) (yes bool) {
	defer func() {
		if recover() != nil {
			yes = false
		}
	}()
	return errors.Is(err, target)
}

// cancelled returns the error of a stream that was run under ctx, which has ended: it matches context.Cause(ctx) and
// each failure that is not nil.
func cancelled(ctx context.Context, failures ...error) error {
	err := context.Cause(ctx)
	for _, f := range failures {
		err = withFailure(err, f)
	}
	return err
}

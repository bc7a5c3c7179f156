package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// ErrNotRestartable is the error of a source that can run only once and is run again. RetryWhen does not retry it.
var ErrNotRestartable = ending.ErrNotRestartable

// ErrEmpty is the error of One, and of operators.First and Last, for a stream that ends without a value.
var ErrEmpty = ending.ErrEmpty

// ErrTimeout is the error of Timeout when a source is silent for too long. It is a timeout as packages net and context
// define it: a net.Error whose Timeout method returns true, and errors.Is(ErrTimeout, context.DeadlineExceeded) is
// true. To learn whether a context has ended, check the context, not the error.
var ErrTimeout error = timeoutError{}

// timeoutError is ErrTimeout, with the time for which nothing came if d is not 0.
type timeoutError struct {
	d    time.Duration
	name string // what has timed out; "" if that is not known
}

func (e timeoutError) Error() string {
	if e.d == 0 {
		return "stream: timeout"
	}
	if e.name != "" {
		return fmt.Sprintf("stream: timeout: %s: nothing came for %v", e.name, e.d)
	}
	return fmt.Sprintf("stream: timeout: nothing came for %v", e.d)
}

func (timeoutError) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}

func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// ContextError returns the error with which a source or an operator of one's own ends: nil until ctx ends or one of the
// failures is not nil; then one error in which errors.Is finds each failure and, once ctx has ended, first
// context.Cause(ctx) and ctx.Err().
func ContextError(ctx context.Context, failures ...error) error {
	return ending.Error(ctx, failures...)
}

// Permanent marks err as an error that no retry can help. RetryWhen, and everything else in this library that retries,
// returns it without a retry. The returned error keeps the mark, so no outer layer retries it either. A mark counts
// anywhere in a tree of wrapped and joined errors. Permanent(nil) is nil.
//
// The marked error has err's text and wraps err: compare with errors.Is, not with ==.
func Permanent(err error) error {
	return ending.Permanent(err)
}

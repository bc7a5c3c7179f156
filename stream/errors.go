package stream

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/permanent"
)

// ErrNotRestartable is what a source returns that can be run only once, when it is run again. No operator retries it.
var ErrNotRestartable = ending.ErrNotRestartable

// ErrTimeout is the failure that Timeout makes of a source that was silent for too long. It is a timeout as packages
// net and context know it: it is a net.Error whose Timeout method returns true, and errors.Is(ErrTimeout,
// context.DeadlineExceeded) is true. So whether a context has ended is to be asked of the context, not of the error.
var ErrTimeout error = timeoutError{}

// timeoutError is ErrTimeout, or one with the time for which nothing came.
type timeoutError struct{ d time.Duration }

func (e timeoutError) Error() string {
	if e.d == 0 {
		return "stream: timeout"
	}
	return fmt.Sprintf("stream: timeout: nothing came for %v", e.d)
}

func (timeoutError) Is(target error) bool {
	return target == ErrTimeout || target == context.DeadlineExceeded
}

func (timeoutError) Timeout() bool   { return true }
func (timeoutError) Temporary() bool { return true }

// Permanent marks err as one that no retry can help. RetryWhen, and all that retries in this library, never retries it
// and returns it as it is. The mark stays on the error that is returned, so no outer layer retries it either. A mark
// counts anywhere in a tree of wrapped and joined errors. Permanent(nil) is nil.
//
// The marked error has err's text, and errors.Is and errors.As see err through it; compare with errors.Is, not with ==.
func Permanent(err error) error {
	return permanent.Mark(err)
}

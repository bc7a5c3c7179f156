package stream

import (
	"errors"

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

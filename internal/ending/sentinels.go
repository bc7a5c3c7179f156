package ending

import "errors"

// ErrNotRestartable is stream.ErrNotRestartable.
var ErrNotRestartable = errors.New("stream: the source cannot be run a second time")

// ErrEmpty is stream.ErrEmpty.
var ErrEmpty = errors.New("stream: the stream ended without a value")

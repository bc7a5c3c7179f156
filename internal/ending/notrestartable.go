package ending

import "errors"

// ErrNotRestartable is stream.ErrNotRestartable.
var ErrNotRestartable = errors.New("stream: the source cannot be run a second time")

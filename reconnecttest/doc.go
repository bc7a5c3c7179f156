// Package reconnecttest checks that a client comes back when its connection breaks.
package reconnecttest

import "errors"

// errCause is the cause with which the checks end a client's context.
var errCause = errors.New("reconnecttest: the cause of a cancellation")

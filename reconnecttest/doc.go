// Package reconnecttest checks that a client comes back when its connection breaks.
package reconnecttest

import (
	"errors"
	"fmt"
)

// errCause is the cause with which the checks end a client's context.
var errCause = errors.New("reconnecttest: the cause of a cancellation")

// count writes "1 timer" or "2 timers".
func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

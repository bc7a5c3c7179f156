//go:build !linux

package items

import (
	"testing"
	"time"
)

var began = time.Now()

// cpuTime is the time that has passed: there is no CPU time of a thread here.
func cpuTime(*testing.B) time.Duration { return time.Since(began) }

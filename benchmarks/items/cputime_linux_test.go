package items

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// cpuTime is the CPU time of the calling thread. Unlike the clock it does not run while others have the processor.
func cpuTime(b *testing.B) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		b.Fatal(err)
	}
	return time.Duration(t.Nano())
}

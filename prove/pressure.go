package prove

import (
	"os"
	"strconv"
	"strings"
	"time"
)

// pressure returns for how long, since the machine began, something that could run has waited for a processor. It is 0
// where the kernel does not say so; Linux does.
func pressure() time.Duration {
	text, _ := os.ReadFile("/proc/pressure/cpu") // "some avg10=0.00 avg60=0.00 avg300=0.00 total=123", in µs
	some, _, _ := strings.Cut(string(text), "\n")
	_, total, _ := strings.Cut(some, " total=")
	us, _ := strconv.ParseInt(total, 10, 64)
	return time.Duration(us) * time.Microsecond
}

package retryhttp

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns the delay that a header asks for, 0 for none. Of several values the largest counts, and one that
// is too large for a Duration is the largest Duration. A date is reckoned from the response's own Date, by the same
// clock, or from now if it has none.
func retryAfter(h http.Header, now time.Time) (delay time.Duration) {
	for _, value := range h["Retry-After"] {
		value = strings.TrimSpace(value)
		if seconds, ok := parseSeconds(value); ok {
			delay = max(delay, seconds)
		} else if date, err := http.ParseTime(value); err == nil {
			// The Date has lost its fraction of a second, so that the difference is never too short.
			if sent, err := http.ParseTime(h.Get("Date")); err == nil {
				now = sent
			}
			delay = max(delay, date.Sub(now))
		}
	}
	return delay
}

func parseSeconds(s string) (time.Duration, bool) {
	if s == "" || strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil || n > math.MaxInt64/int64(time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * time.Second, true
}

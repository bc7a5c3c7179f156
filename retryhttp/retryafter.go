package retryhttp

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// retryAfter returns the delay that the header Retry-After dictates, 0 for none. Of several values the largest counts.
// A value too large for a Duration is the largest Duration. A date is compared with the response's own Date, which is
// from the same clock, or with now if there is none.
func retryAfter(h http.Header, now time.Time) (delay time.Duration) {
	for _, value := range h["Retry-After"] {
		value = strings.TrimSpace(value)
		if seconds, ok := parseSeconds(value); ok {
			delay = max(delay, seconds)
		} else if date, err := http.ParseTime(value); err == nil {
			delay = max(delay, date.Sub(serverTime(h, now)))
		}
	}
	return delay
}

// serverTime returns the time of a response on the server's clock: its Date, or now if it has none. A Date lacks the
// fraction of a second, so a delay computed from it is never too short.
func serverTime(h http.Header, now time.Time) time.Time {
	if sent, err := http.ParseTime(h.Get("Date")); err == nil {
		return sent
	}
	return now
}

// parseSeconds parses a whole number of seconds. One that is too large for a Duration is the largest Duration.
func parseSeconds(s string) (time.Duration, bool) {
	if strings.Trim(s, "0123456789") != "" {
		return 0, false
	}
	n, _ := strconv.ParseInt(s, 10, 64) // the largest number if it is out of range
	if n > math.MaxInt64/int64(time.Second) {
		return math.MaxInt64, true
	}
	return time.Duration(n) * time.Second, true
}

package retryhttp

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const statusOverloaded = 529 // of APIs of language models; it has no standard

// isOverload reports whether a status says that the server is overloaded at the moment.
func isOverload(code int) bool {
	return code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable || code == statusOverloaded
}

// isRateLimit reports whether a response refuses a request because of a rate limit, and says when the client may come
// back. GitHub does so with a 403 too, which otherwise means that access is denied.
func isRateLimit(resp *http.Response) bool {
	return (resp.StatusCode == http.StatusForbidden || resp.StatusCode == http.StatusTooManyRequests) && saysWhen(resp.Header)
}

// saysWhen reports whether a response says when its client may come back, also if that time has passed: by a
// Retry-After, or by a quota that is used up and its reset.
func saysWhen(h http.Header) bool {
	for _, value := range h["Retry-After"] {
		value = strings.TrimSpace(value)
		_, seconds := parseSeconds(value)
		if _, err := http.ParseTime(value); err == nil || seconds && value != "" {
			return true
		}
	}
	for _, prefix := range resetPrefixes {
		if left, ok := parseNumber(h.Get(prefix + "Remaining")); !ok || left > 0 {
			continue
		}
		for _, name := range resetNames {
			if value := h.Get(prefix + name); value != "" {
				return true
			}
		}
	}
	return rateLimit(h) > 0
}

var (
	resetPrefixes = [...]string{"Ratelimit-", "X-Ratelimit-", "X-Rate-Limit-"}
	resetNames    = [...]string{"Reset-After", "Reset"}
)

// shouldRetry returns the decision of the header X-Should-Retry of a failed response, Unclassified without one.
func shouldRetry(resp *http.Response) Class {
	if resp.StatusCode >= http.StatusBadRequest {
		switch strings.ToLower(resp.Header.Get("X-Should-Retry")) {
		case "true":
			return Retryable
		case "false":
			return NotRetryable
		}
	}
	return Unclassified
}

// rateLimitDelay returns the delay that the headers of RateLimitHeaders dictate, 0 for none. retryAfter is the delay of
// Retry-After.
func rateLimitDelay(h http.Header, now time.Time, retryAfter time.Duration) time.Duration {
	for _, name := range []string{"Retry-After-Ms", "X-Ms-Retry-After-Ms"} {
		ms, _ := parseNumber(h.Get(name))
		d := saturate(ms, time.Millisecond)
		if d > 0 && (retryAfter == 0 || d <= retryAfter && retryAfter-d < time.Second) {
			return d
		}
	}
	if retryAfter > 0 {
		return retryAfter
	}
	if d := rateLimit(h); d > 0 {
		return d
	}
	now = serverTime(h, now)
	for _, prefix := range resetPrefixes {
		if left, _ := parseNumber(h.Get(prefix + "Remaining")); left > 0 {
			continue
		}
		for _, name := range resetNames {
			if d := resetDelay(h.Get(prefix+name), now); d > 0 {
				return d
			}
		}
	}
	return 0
}

// rateLimit returns the delay of the fields RateLimit and RateLimit-Policy: the longest time until an exhausted quota
// is available again, or that quota's window if the time is missing.
func rateLimit(h http.Header) (delay time.Duration) {
	windows := map[string]string{}
	for _, item := range parseList(h["Ratelimit-Policy"]) {
		windows[item.name] = item.params["w"]
	}
	for _, item := range parseList(h["Ratelimit"]) {
		left, after := item.params["r"], item.params["t"]
		if after == "" {
			after = windows[item.name]
		}
		if left == "0" {
			delay = max(delay, wholeSeconds(after))
		}
	}
	if delay > 0 {
		return delay
	}
	// Draft 07: the list is a dictionary of one quota.
	quota := map[string]string{}
	for _, item := range parseList(h["Ratelimit"]) {
		if key, value, ok := strings.Cut(item.name, "="); ok {
			quota[key] = value
		}
	}
	if quota["remaining"] == "0" {
		delay = wholeSeconds(quota["reset"])
	}
	return delay
}

func wholeSeconds(s string) time.Duration {
	d, _ := parseSeconds(s)
	return d
}

// listItem is a member of a list of structured fields (RFC 9651): "burst";r=0;t=5.
type listItem struct {
	name   string
	params map[string]string
}

// parseList returns the members of a list. A malformed part becomes a member that matches nothing.
func parseList(lines []string) (items []listItem) {
	for _, line := range lines {
		for _, member := range splitUnquoted(line, ',') {
			parts := splitUnquoted(member, ';')
			item := listItem{parts[0], map[string]string{}}
			for _, part := range parts[1:] {
				key, value, _ := strings.Cut(part, "=")
				item.params[key] = value
			}
			items = append(items, item)
		}
	}
	return items
}

// splitUnquoted splits s at separators outside of double quotes, and trims the parts.
func splitUnquoted(s string, separator byte) (parts []string) {
	quoted, start := false, 0
	for i := 0; i < len(s); i++ {
		switch {
		case quoted && s[i] == '\\':
			i++
		case s[i] == '"':
			quoted = !quoted
		case s[i] == separator && !quoted:
			parts = append(parts, strings.TrimSpace(s[start:i]))
			start = i + 1
		}
	}
	return append(parts, strings.TrimSpace(s[start:]))
}

// resetDelay returns the delay of one of the Reset headers: seconds, the time since 1970 in seconds or milliseconds, or
// a time of RFC 3339.
func resetDelay(value string, now time.Time) time.Duration {
	n, ok := parseNumber(value)
	if !ok {
		date, err := time.Parse(time.RFC3339, strings.TrimSpace(value))
		if err != nil {
			return 0
		}
		return date.Sub(now)
	}
	switch {
	case n >= 1e11:
		n = n/1e3 - float64(now.UnixMilli())/1e3
	case n >= 1e8:
		n -= float64(now.UnixMilli()) / 1e3
	}
	return saturate(n, time.Second)
}

// parseNumber parses a decimal number without a sign and without an exponent.
func parseNumber(s string) (float64, bool) {
	s = strings.TrimSpace(s)
	if strings.Trim(s, "0123456789.") != "" {
		return 0, false
	}
	n, err := strconv.ParseFloat(s, 64)
	return n, err == nil || math.IsInf(n, 1)
}

// saturate returns n units, rounded up, or the largest Duration if that is too large.
func saturate(n float64, unit time.Duration) time.Duration {
	if n *= float64(unit); n < math.MaxInt64 {
		return time.Duration(math.Ceil(n))
	}
	return math.MaxInt64
}

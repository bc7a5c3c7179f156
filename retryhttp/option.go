package retryhttp

import (
	"fmt"
	"net/http"
	"slices"
)

// Option is one setting of NewTransport.
type Option func(*transport)

// Statuses has these be the statuses that are failures, instead of 408, 425, 429, 500, 502, 503 and 504. A code out of
// 100-999 panics.
func Statuses(codes ...int) Option {
	for i, code := range codes {
		if code < 100 || code > 999 {
			panicf("Statuses", "codes[%d] is %d, want 100 to 999", i, code)
		}
	}
	codes = slices.Clone(codes)
	return func(t *transport) { t.statuses = codes }
}

// Classify has f decide about each attempt, what succeeded included, before the transport does. It is called on the
// goroutine of the request. A nil f panics.
func Classify(f func(*Outcome) Verdict) Option {
	if f == nil {
		panicf("Classify", "f is nil")
	}
	return func(t *transport) { t.classify = f }
}

// Idempotent has f say which requests may be carried out twice, instead of their method and header. Whether the body
// can be sent again is another matter, and looked at besides. A nil f panics.
func Idempotent(f func(*http.Request) bool) Option {
	if f == nil {
		panicf("Idempotent", "f is nil")
	}
	return func(t *transport) { t.idempotent = f }
}

// PeekLimit has a StatusError and Outcome.Peek see the first n bytes of a body, instead of 1024. A negative n panics.
func PeekLimit(n int) Option {
	if n < 0 {
		panicf("PeekLimit", "n is %d, want at least 0", n)
	}
	return func(t *transport) { t.peekLimit = n }
}

// AttemptHeader has each retry bear the header X-Retry-Attempt with its number, 1 for the first retry; a first attempt
// does not bear it.
func AttemptHeader() Option {
	return func(t *transport) { t.attemptHeader = true }
}

func panicf(where, format string, args ...any) {
	panic("retryhttp: " + where + ": " + fmt.Sprintf(format, args...))
}

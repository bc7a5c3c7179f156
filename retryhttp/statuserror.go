package retryhttp

import (
	"fmt"
	"net/http"
	"strings"
	"time"
)

// StatusError is a response that is a failure, as the policy and its hooks see it. A Retry-After in its header dictates
// the delay (retry.RetryAfter).
type StatusError struct {
	// StatusCode is 503, say, and Status "503 Service Unavailable".
	StatusCode int
	Status     string
	// Method and URL are the request's; the URL has no password.
	Method, URL string
	// Header is the response's.
	Header http.Header
	// Body is how the response's body begins: 1024 bytes, or as the option PeekLimit says.
	Body []byte

	after time.Duration
}

// Error says what was asked and what came back, with the first line of the body.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("retryhttp: %s %s: %s", e.Method, e.URL, e.Status)
	line, _, _ := strings.Cut(strings.TrimSpace(string(e.Body)), "\n")
	if line = strings.TrimSpace(line); len(line) > 100 {
		line = line[:100] + "…"
	}
	if line != "" {
		text += ": " + strings.ToValidUTF8(line, "?")
	}
	return text
}

// RetryAfter returns the delay that the response asks for, 0 for none.
func (e *StatusError) RetryAfter() time.Duration { return e.after }

// newStatusError returns the error that resp is; now is for a Retry-After that is a date.
func newStatusError(req *http.Request, resp *http.Response, body []byte, now time.Time) *StatusError {
	e := &StatusError{
		StatusCode: resp.StatusCode,
		Status:     resp.Status,
		Method:     req.Method,
		Header:     resp.Header,
		Body:       body,
		after:      retryAfter(resp.Header, now),
	}
	if e.Method == "" {
		e.Method = http.MethodGet
	}
	if e.Status == "" {
		e.Status = strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", http.StatusText(resp.StatusCode)))
	}
	if req.URL != nil {
		e.URL = req.URL.Redacted()
	}
	return e
}

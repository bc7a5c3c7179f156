package retryhttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// StatusError is the error of a response that is a failure, for the policy and its hooks.
type StatusError struct {
	// StatusCode is a number such as 503, and Status a text such as "503 Service Unavailable".
	StatusCode int
	Status     string
	// Method and URL are the request's; the URL has no password.
	Method, URL string
	// Header is the response's.
	Header http.Header
	// Body is the beginning of the response's body: up to 1024 bytes or the number set by PeekLimit.
	Body []byte
	// Err is the error of CheckBody's function; nil if the status or Classify made the response a failure.
	Err error

	after time.Duration
}

// NewStatusError returns the error for resp, for code that calls a client itself:
//
//	err := retry.Run(ctx, policy, func(ctx context.Context) error {
//		resp, err := client.Do(req.WithContext(ctx))
//		if err != nil {
//			return err
//		}
//		defer resp.Body.Close()
//		if resp.StatusCode >= 500 {
//			return retryhttp.NewStatusError(resp)
//		}
//		…
//
// It reads up to 1024 bytes of the body, waits for them up to 1 s, and puts them back. The caller must still close the
// body. Times use the clock of the request's context, or else the system clock.
func NewStatusError(resp *http.Response) *StatusError {
	req := resp.Request
	if req == nil {
		req = new(http.Request)
	}
	clock := clockOf(req)
	e := newStatusError(req, resp, peek(resp, peekLimit, peekTimeout, clock))
	e.after = retryAfter(resp.Header, clock.Now())
	return e
}

// clockOf returns the clock of a request's context. For a nil request it is the system clock.
func clockOf(req *http.Request) stream.Clock {
	if req == nil {
		return stream.ClockFrom(context.Background())
	}
	return stream.ClockFrom(req.Context())
}

func newStatusError(req *http.Request, resp *http.Response, body []byte) *StatusError {
	return &StatusError{
		StatusCode: resp.StatusCode,
		Status:     cmp.Or(resp.Status, strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", http.StatusText(resp.StatusCode)))),
		Method:     method(req),
		URL:        req.URL.Redacted(),
		Header:     resp.Header,
		Body:       body,
	}
}

// statusError returns the error for the exchange's response; checked is CheckBody's error.
func (x *exchange) statusError(checked error) *StatusError {
	e := x.newStatusError(x.peekBody(x.Response))
	e.Err = checked
	if d, ok := errors.AsType[interface {
		error
		RetryAfter() time.Duration
	}](checked); ok && e.after == 0 {
		e.after = d.RetryAfter()
	}
	return e
}

// newStatusError returns the error for the exchange's response, with the delay that the header dictates.
func (x *exchange) newStatusError(body []byte) *StatusError {
	e := newStatusError(x.Request, x.Response, body)
	now := x.clock().Now()
	e.after = retryAfter(x.Response.Header, now)
	if x.transport.rateLimitHeaders && (isOverload(e.StatusCode) || isRateLimit(x.Response)) {
		e.after = rateLimitDelay(x.Response.Header, now, e.after)
	}
	return e
}

// Error returns the request and the status, with Err or, if that is nil, the first line of the body.
func (e *StatusError) Error() string {
	text := fmt.Sprintf("retryhttp: %s %s: %s", e.Method, e.URL, e.Status)
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", text, e.Err)
	}
	line, _, _ := strings.Cut(strings.TrimSpace(string(e.Body)), "\n")
	if line = strings.TrimSpace(line); len(line) > 100 {
		line = line[:100] + "…"
	}
	if line != "" {
		text += ": " + strings.ToValidUTF8(line, "?")
	}
	return text
}

// Unwrap returns Err.
func (e *StatusError) Unwrap() error { return e.Err }

// RetryAfter returns the delay that the response dictates, 0 for none (retry.RetryAfter).
func (e *StatusError) RetryAfter() time.Duration { return e.after }

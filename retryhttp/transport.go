package retryhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/retrywhen/retrywhen/retry"
)

// transport is what NewTransport returns. It is never changed.
type transport struct {
	base          http.RoundTripper
	policy        retry.Policy
	statuses      []int
	classify      func(*Outcome) Verdict
	idempotent    func(*http.Request) bool
	peekLimit     int
	attemptHeader bool
}

// NewTransport returns a RoundTripper that sends requests by base, http.DefaultTransport if it is nil, and retries as p
// says; the package comment says which requests, and which failures. It is safe for concurrent use, as base and p's
// hooks have to be. A nil option panics.
//
// Without Limit or Within p retries until the request's context ends; http.Client's Timeout is such an end, and is for
// all attempts together.
func NewTransport(base http.RoundTripper, p retry.Policy, opts ...Option) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &transport{
		base:   base,
		policy: p,
		statuses: []int{
			http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
			http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
		},
		idempotent: isIdempotent,
		peekLimit:  1024,
	}
	for i, o := range opts {
		if o == nil {
			panicf("NewTransport", "opts[%d] is nil", i)
		}
		o(t)
	}
	return t
}

// CloseIdleConnections is what http.Client.CloseIdleConnections calls.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends req, and sends it again while the policy says so.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	if ctx.Err() != nil {
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, context.Cause(ctx)
	}
	// The first attempt is most often the last: it is made before the policy is troubled, unless that wants to know how
	// long it lasts.
	y := new(try)
	if !t.policy.TimesAttempts() {
		y = t.attempt(ctx, req, 1, nil)
		if y.ruling == done {
			t.policy.Succeeded(1)
		}
		switch {
		case y.ruling != again:
			return y.response(), y.Err
		case ctx.Err() != nil:
			y.drop()
			return nil, ended(ctx, y.failure)
		}
	}
	return t.retry(ctx, req, y)
}

// ended returns the error of a request whose context ended during its first attempt, which failed so.
func ended(ctx context.Context, failure error) error {
	if cause := context.Cause(ctx); !errors.Is(failure, cause) {
		return fmt.Errorf("%w: %w", cause, failure)
	}
	return failure
}

// retry goes on after the first attempt, if there was one.
func (t *transport) retry(ctx context.Context, req *http.Request, y *try) (*http.Response, error) {
	// Once the policy has decided to retry, the response has to go before the wait.
	policy := t.policy.With(retry.OnRetry(func(retry.Event) { y.discard() }))
	for attempt, end := range policy.Attempts(ctx) {
		switch {
		case end != nil && y.Response != nil && ctx.Err() == nil:
			return y.response(), nil // it gave up
		case end != nil:
			y.drop()
			return nil, end
		}
		if y.Attempt < attempt.N() {
			y = t.attempt(ctx, req, attempt.N(), attempt.Err())
		}
		attempt.Fail(y.failure)
		if y.ruling != again {
			return y.response(), y.Err
		}
	}
	panic("retryhttp: the attempts ended without an end") // never
}

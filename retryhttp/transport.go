package retryhttp

import (
	"context"
	"net/http"

	"github.com/retrywhen/retrywhen/internal/engine"
	"github.com/retrywhen/retrywhen/retry"
)

// transport is what NewTransport returns. It is never changed.
type transport struct {
	base          http.RoundTripper
	policy        retry.Policy
	engine        engine.Policy[retry.State] // policy
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
		engine: engine.Of[retry.State](p),
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
	y := &try{Outcome: Outcome{Request: req}}
	defer y.drop() // unless it is handed over, whoever panics
	// Once the policy has decided to retry, the response has to go before the wait.
	policy := t.policy.With(retry.OnRetry(func(context.Context, retry.Event) { y.discard() }))
	for attempt, end := range policy.Attempts(ctx) {
		if end != nil {
			return y.end(ctx, end)
		}
		t.attempt(ctx, y, attempt.N(), attempt.Err())
		attempt.Fail(y.failure)
		if y.ruling != again {
			return y.response(), y.Err
		}
	}
	panic("retryhttp: the attempts ended without an end") // never
}

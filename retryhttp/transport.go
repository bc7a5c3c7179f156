package retryhttp

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/retrywhen/retrywhen/internal/engine"
	"github.com/retrywhen/retrywhen/retry"
)

// Transport is an http.RoundTripper that retries. It is immutable, and safe for concurrent use.
type Transport struct {
	base   http.RoundTripper
	policy retry.Policy
	engine engine.Policy[retry.State] // policy's, with the parts that are not exported
	settings
}

// NewTransport returns a Transport that sends requests by base, http.DefaultTransport if it is nil, and retries as p
// says; the package comment says which requests, and which failures. base and p's hooks must be safe for concurrent
// use.
//
// Without Limit or Within p retries until the request's context ends; http.Client's Timeout is such an end, and is for
// all attempts together.
func NewTransport(base http.RoundTripper, p retry.Policy, opts ...Option) *Transport {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &Transport{
		base: base,
		// A failed response is let go before the wait, so that its connection can be used again.
		policy: engine.BeforeWait(p, func(ctx context.Context) { ctx.(*operation).exchange.discard() }),
		settings: settings{
			statuses: []int{
				http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
				http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout,
			},
			idempotent:  isIdempotent,
			peekLimit:   peekLimit,
			peekTimeout: peekTimeout,
		},
	}
	t.engine = engine.Of[retry.State](t.policy)
	for i, o := range opts {
		if o == nil {
			panicf("NewTransport", "opts[%d] is nil", i)
		}
		o(&t.settings)
	}
	return t
}

// CloseIdleConnections closes those of the base transport. http.Client.CloseIdleConnections calls it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends req, and sends it again while the policy says so. The package comment says what it returns.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	op := &operation{ctx, exchange{transport: t, Outcome: Outcome{Request: req}}}
	x := &op.exchange
	defer x.drop() // unless it is handed over, whoever panics
	for attempt, end := range t.policy.Attempts(op) {
		if end != nil {
			return x.end(ctx, end)
		}
		x.attempt(attempt.N(), attempt.Err())
		attempt.Fail(x.failure)
		if x.final {
			return x.response(), x.Err
		}
	}
	panic("retryhttp: the attempts ended without an end") // never
}

// operation is the context of the policy's operation, and of its hooks: that of the request, with the exchange.
type operation struct {
	context.Context
	exchange exchange
}

type operationKey struct{}

// Value finds the operation itself.
func (op *operation) Value(key any) any {
	if key == (operationKey{}) {
		return op
	}
	return op.Context.Value(key)
}

// String names the context as those of package context do.
func (op *operation) String() string { return fmt.Sprint(op.Context) }

// RequestFrom returns the request that a policy's hook is called for, as the Transport was given it, if ctx is the
// hook's context; nil for other contexts, those of the base transport among them.
func RequestFrom(ctx context.Context) *http.Request {
	if op, ok := ctx.Value(operationKey{}).(*operation); ok {
		return op.exchange.Request
	}
	return nil
}

const (
	peekLimit   = 1024
	peekTimeout = time.Second
)

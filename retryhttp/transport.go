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
	engine engine.Policy[retry.State] // the policy's engine, which is not exported
	settings
	resumer *Transport // continues bodies; nil without ResumeBody
}

// NewTransport returns a Transport that sends requests through base, or http.DefaultTransport if base is nil, and
// retries as p decides. The package comment says which requests and which failures are retried. base and p's hooks must
// be safe for concurrent use.
//
// p's ResetAfterItems and BeforeFirstItem have no effect, because a request delivers no values. Without Limit or Within,
// p retries until the request's context ends. http.Client's Timeout ends that context too, and
// covers all attempts together.
func NewTransport(base http.RoundTripper, p retry.Policy, opts ...Option) *Transport {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &Transport{
		base: base,
		settings: settings{
			statuses: []int{
				http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests, http.StatusInternalServerError,
				http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout, 520, 521, 522, 523, 524, statusOverloaded,
			},
			idempotent:  isIdempotent,
			peekLimit:   peekLimit,
			peekTimeout: peekTimeout,
		},
	}
	// A failed response is released before the wait, so that its connection can be used again.
	t.setPolicy(engine.BeforeWait(p, func(ctx context.Context) { ctx.(*operation).exchange.discard() }))
	for i, o := range opts {
		if o == nil {
			panicf("NewTransport", "opts[%d] is nil", i)
		}
		o(&t.settings)
	}
	if t.resumeBody {
		t.resumer = t.resuming()
	}
	return t
}

func (t *Transport) setPolicy(p retry.Policy) { t.policy, t.engine = p, engine.Of[retry.State](p) }

// CloseIdleConnections closes the idle connections of the base transport. http.Client.CloseIdleConnections calls it.
func (t *Transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends req, and sends it again while the policy allows. The package comment says what it returns.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	op := &operation{ctx, exchange{transport: t, ctx: ctx, Outcome: Outcome{Request: req}}}
	x := &op.exchange
	defer x.drop() // unless it is returned, also after a panic
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

// operation is the context of the policy's operation and of its hooks: the request's context, with the exchange.
type operation struct {
	context.Context
	exchange exchange
}

type operationKey struct{}

// Value returns the operation itself for its key.
func (op *operation) Value(key any) any {
	if key == (operationKey{}) {
		return op
	}
	return op.Context.Value(key)
}

// String describes the context in the form that package context uses.
func (op *operation) String() string { return fmt.Sprint(op.Context) }

// RequestFrom returns the request for which a policy's hook is called, as it was passed to the Transport, if ctx is the
// hook's context. It returns nil for other contexts, such as those of the base transport.
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

package retryhttp

import (
	"context"
	"net/http"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// Transport is an http.RoundTripper that retries. It is immutable, and safe for concurrent use.
type Transport struct {
	base   http.RoundTripper
	policy retry.Policy
	settings
	resumer *Transport // continues bodies; nil without ResumeBody
}

// NewTransport returns a Transport that sends requests through base, or http.DefaultTransport if base is nil, and
// retries as p decides. The package comment says which requests and which failures are retried. base and p's hooks must
// be safe for concurrent use.
//
// p's ResetAfterItems and BeforeFirstItem have no effect, because a request delivers no values. Without Limit, Within
// or StopAt, p retries until the request's context ends. http.Client's Timeout ends that context too, and covers all
// attempts together.
func NewTransport(base http.RoundTripper, p retry.Policy, opts ...Option) *Transport {
	if base == nil {
		base = http.DefaultTransport
	}
	t := &Transport{
		base:   base,
		policy: p,
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

// CloseIdleConnections closes the idle connections of the base transport. http.Client.CloseIdleConnections calls it.
func (t *Transport) CloseIdleConnections() {
	closeIdle(t.base)
}

func closeIdle(base http.RoundTripper) {
	if c, ok := base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends req, and sends it again while the policy allows. The package comment says what it returns.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ctx := req.Context()
	x := t.begin(ctx, &exchange{Outcome: Outcome{Request: req}})
	defer x.drop() // unless it is returned, also after a panic
	end := x.op.Cancelled()
	if end == nil {
		end = x.passGate()
	}
	for n := 1; end == nil; n++ {
		x.attempt(n, x.failure)
		if x.final {
			_ = x.op.Done(retry.Outcome{Err: x.failure})
			return x.response(), x.Err
		}
		end = x.next()
	}
	return x.result(ctx, x.op.Done(retry.Outcome{Err: end}))
}

// begin begins the operation of an exchange under ctx.
func (t *Transport) begin(ctx context.Context, x *exchange) *exchange {
	x.transport, x.ctx = t, ctx
	x.op = t.policy.Start(context.WithValue(ctx, requestFromKey{}, x.Request))
	return x
}

// next lets the policy decide about the failure of the last attempt, and waits. It returns the error with which the
// operation ends, nil if there is another attempt.
func (x *exchange) next() error {
	failed := retry.Outcome{Err: x.failure, Lasted: x.lasted}
	x.lasted = 0
	if _, refused := x.failure.(*notRetriedError); refused {
		return x.op.Refused(failed)
	}
	delay, end := x.op.Failed(failed)
	if end != nil {
		return end
	}
	x.discard() // before the wait, so that the connection can be used again
	if end = x.op.Wait(delay); end == nil {
		end = x.passGate()
	}
	return end
}

type requestFromKey struct{}

// RequestFrom returns the request for which a policy's hook is called, as it was passed to the Transport, if ctx is the
// hook's context. It returns nil for other contexts, such as those of the base transport.
func RequestFrom(ctx context.Context) *http.Request {
	request, _ := ctx.Value(requestFromKey{}).(*http.Request)
	return request
}

const (
	peekLimit   = 1024
	peekTimeout = time.Second
)

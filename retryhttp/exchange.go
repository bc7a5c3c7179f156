package retryhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// exchange is one request that a Transport sends. Its Outcome is that of the current attempt; it keeps the response
// until the response is returned or closed.
type exchange struct {
	Outcome
	transport *Transport
	op        retry.Operation
	ctx       context.Context // of all attempts: the request's, or that of the rest of a body
	prepared  *http.Request   // the request to send; the first attempt sends it unchanged
	sent      *http.Request   // the request of the current attempt
	keyed     bool            // IdempotencyKeys added the key
	failure   error           // the failure of the current attempt
	lasted    time.Duration   // of the current attempt; 0 if the operation times it
	final     bool            // the current attempt is the last one, whatever the policy says
	release   func()          // ends the current attempt's own context; nil if it has none
}

// attempt sends the request for the n-th time, after the last failure, and classifies the result.
func (x *exchange) attempt(n int, last error) {
	t := x.transport
	if n == 1 {
		x.prepare()
	}
	x.Outcome = Outcome{Request: x.Request, Attempt: n, exchange: x}
	x.sent = x.prepared
	ctx, stop := x.op.Attempt(x.ctx)
	_, timed := t.policy.AttemptTimeout()
	var ended func() bool
	if timed {
		ctx, ended = x.withTimeout(ctx, stop)
	}
	if timed || n > 1 {
		x.sent = x.prepared.WithContext(ctx)
	}
	class := Unclassified
	if err := x.renew(); err != nil {
		x.Err = fmt.Errorf("retryhttp: GetBody for attempt %d: %w: after %w", n, err, last)
		x.failure, x.final = x.Err, true
	} else {
		x.send()
		if x.Err != nil && timed && ctx.Err() != nil && x.ctx.Err() == nil {
			x.Err = x.late() // not the error of the context with which the timeout was carried out
		}
		class = x.class()
		x.judge(class)
		x.closeGate()
	}
	if timed && ended() && x.ctx.Err() == nil {
		x.drop()
		x.Err = x.late()
		x.judge(class)
	}
}

// late returns the error of an attempt that AttemptTimeout has ended.
func (x *exchange) late() error {
	late := timeoutError(fmt.Sprintf("retryhttp: attempt %d: no response in time: %v", x.Attempt, context.DeadlineExceeded))
	if isUnsent(x.Err) {
		return &unsentError{late}
	}
	return late
}

// timeoutError is the error of an operation that took too long.
type timeoutError string

func (e timeoutError) Error() string { return string(e) }

func (timeoutError) Unwrap() error { return context.DeadlineExceeded }

// Timeout is called by url.Error.
func (timeoutError) Timeout() bool { return true }

// withTimeout returns the context for an attempt whose timeout is a context that stop releases. The context lives
// longer than the timeout, until x.release, because of the response's body. ended reports whether the timeout has ended
// the attempt; if not, it no longer does.
func (x *exchange) withTimeout(timeout context.Context, stop func()) (_ context.Context, ended func() bool) {
	own, cancel := context.WithCancelCause(x.ctx)
	if x.Attempt > 1 {
		own = attempt.With(own, x.Attempt)
	}
	pending := context.AfterFunc(timeout, func() { cancel(context.Cause(timeout)) })
	x.release = func() { cancel(nil) }
	return own, func() bool {
		defer stop()
		return !pending()
	}
}

// renew sets the body and the header for a retry.
func (x *exchange) renew() error {
	if x.Attempt == 1 {
		return nil
	}
	if hasBody(x.prepared) {
		body, err := x.prepared.GetBody()
		if err != nil {
			return err
		}
		x.sent.Body = body
	}
	if x.transport.attemptHeader {
		x.sent.Header = withHeader(x.prepared.Header, "X-Retry-Attempt", strconv.Itoa(x.Attempt-1))
	}
	return nil
}

// send sets the attempt's response, or its error.
func (x *exchange) send() {
	x.Response, x.Err = x.transport.base.RoundTrip(x.sent)
	switch {
	case x.Err != nil:
		x.Response = nil
	case x.Response == nil:
		x.Err = errors.New("retryhttp: the base transport returned neither a response nor an error")
	}
}

// response returns the response, nil if there is none, and gives it up.
func (x *exchange) response() *http.Response {
	resp := x.Response
	if resp == nil {
		return nil
	}
	if resp.Request == x.sent {
		resp.Request = x.Request
	}
	if x.release != nil {
		resp.Body = releasing(resp.Body, x.release)
	}
	if x.transport.resumer != nil {
		resp.Body = x.resumable(resp)
	}
	x.Response, x.release = nil, nil
	return resp
}

// result returns the result of the request if there is no further attempt; end is the reason. If the request was never
// sent, its body is closed.
func (x *exchange) result(ctx context.Context, end error) (*http.Response, error) {
	if x.Attempt == 0 && x.Request.Body != nil {
		x.Request.Body.Close()
	}
	refused, ok := x.failure.(*notRetriedError)
	switch {
	case ok && x.Err != nil && refused.reason == ErrBodyOnce: // it says what would help
		return nil, refused
	case ok:
		return x.response(), x.Err
	case x.Response != nil && !errors.Is(end, context.Cause(ctx)): // the policy gave up
		return x.response(), nil
	}
	return nil, end
}

// discard drains and closes the response, before a retry.
func (x *exchange) discard() {
	if x.Response != nil {
		drain(x.Response.Body)
	}
	x.drop()
}

// drop closes the response and ends the attempt's own context.
func (x *exchange) drop() {
	if x.Response != nil && x.Response.Body != nil {
		x.Response.Body.Close()
	}
	if x.release != nil {
		x.release()
	}
	x.Response, x.release = nil, nil
}

// clock returns the clock of the policy, or else of the request's context.
func (x *exchange) clock() stream.Clock { return x.transport.policy.Clock(x.ctx) }

// peekBody returns the first bytes of the response's body.
func (x *exchange) peekBody(resp *http.Response) []byte {
	return peek(resp, x.transport.peekLimit, x.transport.peekTimeout, x.clock())
}

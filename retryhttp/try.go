package retryhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// try is the present attempt of a request. Its Outcome has the request as the transport was given it, and the response
// until that is handed over or let go of.
type try struct {
	Outcome
	sent    *http.Request
	ruling  ruling
	failure error  // for the policy
	release func() // lets go of the attempt's own context; nil if it has none
}

// attempt sends y's request once, for the n-th time and after the given failure, and decides what that has come to.
func (t *transport) attempt(ctx context.Context, y *try, n int, after error) {
	req := y.Request
	*y = try{Outcome: Outcome{Request: req, Attempt: n, limit: t.peekLimit}, sent: req}
	if n > 1 {
		ctx = context.WithValue(ctx, resendKey{}, n-1)
	}
	_, timed := t.policy.AttemptTimeout()
	var inTime func() bool
	if timed {
		ctx, inTime = t.timed(ctx, y)
	}
	if timed || n > 1 {
		y.sent = req.WithContext(ctx)
	}
	if n > 1 {
		if err := t.renew(y); err != nil {
			y.Err = fmt.Errorf("retryhttp: GetBody for attempt %d: %w: after %w", n, err, after)
			y.ruling, y.failure = failed, y.Err
		}
	}
	if y.ruling != failed {
		t.send(y)
	}
	if timed && !inTime() && req.Context().Err() == nil {
		y.drop()
		y.Err = timeoutError{n}
		t.rule(y)
	}
	if y.Response == nil {
		y.let()
	}
}

// timeoutError is the error of an attempt that had no response in time.
type timeoutError struct{ attempt int }

func (e timeoutError) Error() string {
	return fmt.Sprintf("retryhttp: attempt %d: no response in time: %v", e.attempt, context.DeadlineExceeded)
}

func (timeoutError) Unwrap() error { return context.DeadlineExceeded }

// Timeout is what url.Error asks for.
func (timeoutError) Timeout() bool { return true }

// timed returns the context for an attempt under the policy's AttemptTimeout. It outlives the timeout, for the
// response's body, until y.release; inTime ends the timeout, and reports whether that was in time.
func (t *transport) timed(ctx context.Context, y *try) (_ context.Context, inTime func() bool) {
	own, cancel := context.WithCancelCause(ctx)
	timeout, stop := t.engine.AttemptContext(ctx)
	pending := context.AfterFunc(timeout, func() { cancel(context.Cause(timeout)) })
	y.release = func() { cancel(nil) }
	return own, func() bool {
		defer stop()
		return pending()
	}
}

// renew makes what is sent a retry.
func (t *transport) renew(y *try) error {
	if hasBody(y.Request) {
		body, err := y.Request.GetBody()
		if err != nil {
			return err
		}
		y.sent.Body = body
	}
	if t.attemptHeader {
		y.sent.Header = y.Request.Header.Clone()
		if y.sent.Header == nil {
			y.sent.Header = make(http.Header)
		}
		y.sent.Header.Set("X-Retry-Attempt", strconv.Itoa(y.Attempt-1))
	}
	return nil
}

type resendKey struct{}

// ResendCount returns which retry a request is that the base transport sends, by the request's context: 1 for the first one,
// 0 for a first attempt. It is OpenTelemetry's http.request.resend_count.
func ResendCount(ctx context.Context) int {
	n, _ := ctx.Value(resendKey{}).(int)
	return n
}

func (t *transport) send(y *try) {
	y.Response, y.Err = t.base.RoundTrip(y.sent)
	switch {
	case y.Err != nil:
		y.Response = nil
	case y.Response == nil:
		y.Err = errors.New("retryhttp: the base transport returned neither a response nor an error")
	}
	t.rule(y)
}

// rule decides what the attempt has come to.
func (t *transport) rule(y *try) {
	y.ruling, y.failure = t.judge(&y.Outcome), y.Err
	switch {
	case y.Err != nil || y.ruling == done:
	case y.ruling == again:
		y.failure = newStatusError(y.Request, y.Response, y.Peek(), t.engine.Clock(y.Request.Context()).Now())
	default:
		y.failure = errNotRetried
	}
}

// errNotRetried is a failing response that is handed over; nobody sees it.
var errNotRetried = errors.New("not retried")

// response hands over the response, nil if there is none.
func (y *try) response() *http.Response {
	resp := y.Response
	if resp == nil {
		return nil
	}
	if resp.Request == y.sent {
		resp.Request = y.Request
	}
	if y.release != nil {
		resp.Body = releasing(resp.Body, y.release)
	}
	y.Response, y.release = nil, nil
	return resp
}

// end returns what the request has come to when there is no further attempt, and end is why. A request that was never
// sent has its body closed.
func (y *try) end(ctx context.Context, end error) (*http.Response, error) {
	if y.Attempt == 0 && y.Request.Body != nil {
		y.Request.Body.Close()
	}
	if y.Response != nil && !errors.Is(end, context.Cause(ctx)) { // it was the policy that gave up
		return y.response(), nil
	}
	return nil, end
}

// discard drains and closes the response, before a retry.
func (y *try) discard() {
	if y.Response != nil {
		discard(y.Response.Body)
	}
	y.let()
}

// drop closes the response as it is.
func (y *try) drop() {
	if y.Response != nil && y.Response.Body != nil {
		y.Response.Body.Close()
	}
	y.let()
}

func (y *try) let() {
	if y.release != nil {
		y.release()
	}
	y.Response, y.release = nil, nil
}

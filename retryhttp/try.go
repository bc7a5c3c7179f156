package retryhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
)

// try is one attempt. Its Outcome has the request as the transport was given it, and the response until it is discarded.
type try struct {
	Outcome
	sent    *http.Request
	ruling  ruling
	failure error  // for the policy
	release func() // lets go of the attempt's own context; nil if it has none
}

// attempt sends req once, for the n-th time and after the given failure, and decides what that has come to.
func (t *transport) attempt(ctx context.Context, req *http.Request, n int, after error) *try {
	y := &try{Outcome: Outcome{Request: req, Attempt: n, limit: t.peekLimit}, sent: req}
	if n > 1 {
		ctx = context.WithValue(ctx, resendKey{}, n-1)
	}
	timed := t.policy.HasAttemptTimeout()
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
		y.Err = fmt.Errorf("retryhttp: attempt %d: no response in time: %w", y.Attempt, context.DeadlineExceeded)
		t.rule(y)
	}
	if y.Response == nil && y.release != nil {
		y.release()
	}
	return y
}

// timed returns the context for an attempt under the policy's AttemptTimeout. It outlives the timeout, for the
// response's body, until y.release; inTime ends the timeout, and reports whether that was in time.
func (t *transport) timed(ctx context.Context, y *try) (_ context.Context, inTime func() bool) {
	own, cancel := context.WithCancelCause(ctx)
	timeout, stop := t.policy.AttemptContext(ctx)
	pending := context.AfterFunc(timeout, func() { cancel(context.Cause(timeout)) })
	y.release = func() { cancel(nil) }
	return own, func() bool {
		defer stop()
		return pending()
	}
}

// renew makes what is sent a retry.
func (t *transport) renew(y *try) error {
	if y.Request.GetBody != nil {
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
		y.failure = newStatusError(y.Request, y.Response, y.Peek(), t.policy.Clock(y.Request.Context()).Now())
	default:
		y.failure = errNotRetried
	}
}

// errNotRetried is a failing response that is handed over; nobody sees it.
var errNotRetried = errors.New("not retried")

// response returns the response for the caller, nil if there is none.
func (y *try) response() *http.Response {
	if y.Response == nil {
		return nil
	}
	if y.Response.Request == y.sent {
		y.Response.Request = y.Request
	}
	if y.release != nil {
		y.Response.Body = releasing(y.Response.Body, y.release)
	}
	return y.Response
}

// discard lets go of the response, before a retry.
func (y *try) discard() {
	if y.Response != nil {
		discard(y.Response.Body)
		y.let()
	}
}

// drop closes the response as it is.
func (y *try) drop() {
	if y.Response != nil {
		if y.Response.Body != nil {
			y.Response.Body.Close()
		}
		y.let()
	}
}

func (y *try) let() {
	y.Response = nil
	if y.release != nil {
		y.release()
	}
}

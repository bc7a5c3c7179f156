package retryhttp

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/retrywhen/retrywhen/retry"
)

// try is one attempt.
type try struct {
	req     *http.Request // as the transport was given it
	sent    *http.Request
	number  int            // from 1
	resp    *http.Response // nil if there is none, or no more
	err     error
	ruling  ruling
	failure error  // for the policy
	release func() // lets go of the attempt's own context; nil if it has none
}

// attempt sends req once and decides what that has come to.
func (t *transport) attempt(ctx context.Context, req *http.Request, a *retry.Attempt) *try {
	y := &try{req: req, sent: req, number: a.N()}
	if y.number > 1 {
		ctx = context.WithValue(ctx, resendKey{}, y.number-1)
	}
	timed := t.policy.HasAttemptTimeout()
	var inTime func() bool
	if timed {
		ctx, inTime = t.timed(ctx, y)
	}
	if timed || y.number > 1 {
		y.sent = req.WithContext(ctx)
	}
	if y.number > 1 {
		if err := t.renew(y); err != nil {
			y.err = fmt.Errorf("retryhttp: GetBody for attempt %d: %w: after %w", y.number, err, a.Err())
			y.ruling, y.failure = failed, y.err
		}
	}
	if y.ruling != failed {
		t.send(y)
	}
	if timed && !inTime() && req.Context().Err() == nil {
		y.drop()
		y.err = fmt.Errorf("retryhttp: attempt %d: no response in time: %w", y.number, context.DeadlineExceeded)
		t.rule(y)
	}
	if y.resp == nil && y.release != nil {
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
	if y.req.GetBody != nil {
		body, err := y.req.GetBody()
		if err != nil {
			return err
		}
		y.sent.Body = body
	}
	if t.attemptHeader {
		y.sent.Header = y.req.Header.Clone()
		if y.sent.Header == nil {
			y.sent.Header = make(http.Header)
		}
		y.sent.Header.Set("X-Retry-Attempt", strconv.Itoa(y.number-1))
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
	y.resp, y.err = t.base.RoundTrip(y.sent)
	switch {
	case y.err != nil:
		y.resp = nil
	case y.resp == nil:
		y.err = errors.New("retryhttp: the base transport returned neither a response nor an error")
	}
	t.rule(y)
}

// rule decides what the attempt has come to.
func (t *transport) rule(y *try) {
	o := Outcome{Request: y.req, Response: y.resp, Err: y.err, Attempt: y.number, limit: t.peekLimit}
	y.ruling, y.failure = t.judge(&o), y.err
	switch {
	case y.err != nil || y.ruling == done:
	case y.ruling == again:
		y.failure = newStatusError(y.req, y.resp, o.Peek(), t.policy.Clock(y.req.Context()).Now())
	default:
		y.failure = errNotRetried
	}
}

// errNotRetried is a failing response that is handed over; nobody sees it.
var errNotRetried = errors.New("not retried")

// response returns the response for the caller, nil if there is none.
func (y *try) response() *http.Response {
	if y.resp == nil {
		return nil
	}
	if y.resp.Request == y.sent {
		y.resp.Request = y.req
	}
	if y.release != nil {
		y.resp.Body = releasing(y.resp.Body, y.release)
	}
	return y.resp
}

// discard lets go of the response, before a retry.
func (y *try) discard() {
	if y.resp != nil {
		discard(y.resp.Body)
		y.let()
	}
}

// drop closes the response as it is.
func (y *try) drop() {
	if y.resp != nil {
		if y.resp.Body != nil {
			y.resp.Body.Close()
		}
		y.let()
	}
}

func (y *try) let() {
	y.resp = nil
	if y.release != nil {
		y.release()
	}
}

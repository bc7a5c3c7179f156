package retryotel

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

const outcomeKey = attribute.Key("retry.outcome")

// outcome returns the outcome of an operation.
func outcome(ctx context.Context, r retry.Result) string {
	switch e, ok := r.Err.(*retry.Error); {
	case r.Err == nil:
		return "success"
	case ok && e.Attempts == r.Attempts: // otherwise the error is from an inner policy
		return reason(e)
	case ctx.Err() != nil:
		return "canceled"
	}
	return "refused"
}

// reason returns why a policy gave up.
func reason(e *retry.Error) string {
	switch {
	case errors.Is(e.Cause, retry.ErrExhausted):
		return "exhausted"
	case errors.Is(e.Cause, retry.ErrDeadline):
		return "deadline"
	case errors.Is(e.Cause, retry.ErrBudget):
		return "budget"
	case errors.Is(e.Cause, retry.ErrRefused):
		return "refused"
	}
	return "canceled"
}

// errorType returns error.type: the status of a response, else the error's type.
func errorType(err error) attribute.KeyValue {
	if e, ok := errors.AsType[*retryhttp.StatusError](err); ok {
		return semconv.ErrorTypeKey.String(strconv.Itoa(e.StatusCode))
	}
	return semconv.ErrorType(err)
}

// resendCount returns http.request.resend_count if ctx is the context of a request of retryhttp.
func resendCount(ctx context.Context, n int) []attribute.KeyValue {
	if retryhttp.RequestFrom(ctx) == nil {
		return nil
	}
	return []attribute.KeyValue{semconv.HTTPRequestResendCount(n)}
}

// ResendCount returns a RoundTripper that sends requests through base, or http.DefaultTransport if base is nil, and
// sets http.request.resend_count on the span of a request that is sent again. It must be inside the RoundTripper that
// makes the spans, which must be inside retryhttp:
//
//	retryhttp.NewTransport(otelhttp.NewTransport(retryotel.ResendCount(nil)), policy)
func ResendCount(base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return resending{base}
}

type resending struct{ base http.RoundTripper }

func (t resending) RoundTrip(r *http.Request) (*http.Response, error) {
	if n := stream.AttemptFrom(r.Context()) - 1; n > 0 {
		trace.SpanFromContext(r.Context()).SetAttributes(semconv.HTTPRequestResendCount(n))
	}
	return t.base.RoundTrip(r)
}

// CloseIdleConnections closes the idle connections of base. http.Client.CloseIdleConnections calls it.
func (t resending) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

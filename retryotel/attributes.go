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

const (
	outcomeKey = attribute.Key("retry.outcome")
	reasonKey  = attribute.Key("retry.reason")
)

// end returns the outcome of an operation and, unless it succeeded, why there was no further retry.
func end(ctx context.Context, r retry.Result) []attribute.KeyValue {
	outcome, reason := "success", ""
	switch e, ok := r.Err.(*retry.Error); {
	case r.Err == nil:
		return []attribute.KeyValue{outcomeKey.String(outcome)}
	case ok && e.Attempts == r.Attempts: // otherwise the error is from an inner policy
		outcome, reason = gaveUp(e)
	case ctx.Err() != nil:
		outcome, reason = "canceled", "canceled"
	case retry.IsPermanent(r.Err):
		outcome, reason = "refused", "permanent"
	default:
		outcome, reason = "refused", "refused"
	}
	return []attribute.KeyValue{outcomeKey.String(outcome), reasonKey.String(reason)}
}

// causes are the reasons for which a policy gives up after a last failure. Of several that match, the first counts.
var causes = []struct {
	cause, last     error // last is nil for any failure
	outcome, reason string
}{
	{retry.ErrWithoutRetries, nil, "exhausted", "without_retries"},
	{retry.ErrLimit, nil, "exhausted", "limit"},
	{retry.ErrWithin, nil, "exhausted", "within"},
	{retry.ErrStopAt, nil, "exhausted", "stop_at"},
	{retry.ErrMaxRetryAfter, nil, "exhausted", "max_retry_after"},
	{retry.ErrDeadline, nil, "deadline", "deadline"},
	{retry.ErrBudget, nil, "budget", "budget"},
	{retry.ErrRefused, retryhttp.ErrBodyOnce, "refused", "body"},
	{retry.ErrRefused, retryhttp.ErrNotIdempotent, "refused", "not_idempotent"},
	{retry.ErrRefused, nil, "refused", "refused"},
}

// gaveUp returns the outcome of an operation whose policy gave up, and why.
func gaveUp(e *retry.Error) (outcome, reason string) {
	for _, c := range causes {
		if errors.Is(e.Cause, c.cause) && (c.last == nil || errors.Is(e.Last, c.last)) {
			return c.outcome, c.reason
		}
	}
	return "canceled", "canceled"
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

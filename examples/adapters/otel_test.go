package adapters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// tracedTransport makes a span of each request that is really sent, as the semantic conventions for HTTP want it: a
// retry says which one it is. It stands below retryhttp; otelhttp's transport in its place needs the attribute only.
type tracedTransport struct {
	tracer trace.Tracer
	base   http.RoundTripper
}

func (t tracedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := t.tracer.Start(r.Context(), r.Method, trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(semconv.HTTPRequestMethodKey.String(r.Method), semconv.ServerAddress(r.URL.Hostname())))
	defer span.End()
	if n := stream.AttemptFrom(ctx) - 1; n > 0 {
		span.SetAttributes(semconv.HTTPRequestResendCount(n))
	}
	resp, err := t.base.RoundTrip(r.WithContext(ctx))
	switch {
	case err != nil:
		span.SetStatus(codes.Error, err.Error())
		span.SetAttributes(semconv.ErrorType(err))
	case resp.StatusCode >= 400:
		span.SetStatus(codes.Error, "")
		fallthrough
	default:
		span.SetAttributes(semconv.HTTPResponseStatusCode(resp.StatusCode))
	}
	return resp, err
}

func Example_openTelemetryHTTP() {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("example")

	base := tracedTransport{tracer, server.Client().Transport}
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))
	client := &http.Client{Transport: retryhttp.NewTransport(base, policy)}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()

	for _, span := range spans.Ended() {
		attributes := attribute.NewSet(span.Attributes()...)
		status, _ := attributes.Value(semconv.HTTPResponseStatusCodeKey)
		resend, ok := attributes.Value(semconv.HTTPRequestResendCountKey)
		fmt.Println(span.Name(), status.AsInt64(), ok, resend.AsInt64())
	}
	// Output:
	// GET 503 false 0
	// GET 503 true 1
	// GET 200 true 2
}

// traced is the policy with its hooks writing to the span of ctx: an event for each retry, and the end.
func traced(ctx context.Context, p retry.Policy) retry.Policy {
	span := trace.SpanFromContext(ctx)
	return p.With(
		retry.OnRetry(func(_ context.Context, e retry.Event) {
			span.AddEvent("retry", trace.WithAttributes(attribute.Int("retry.n", e.N),
				attribute.Int64("retry.delay_ms", e.Delay.Milliseconds()), semconv.ErrorType(e.Err)))
		}),
		retry.OnGiveUp(func(_ context.Context, e *retry.Error) {
			span.RecordError(e)
			span.SetStatus(codes.Error, e.Cause.Error())
		}),
	)
}

func Example_openTelemetry() {
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("example")

	ctx, span := tracer.Start(context.Background(), "fetch")
	policy := retry.New(backoff.Exponential(time.Millisecond, 2), retry.Limit(2))
	_ = retry.Run(ctx, traced(ctx, policy), func(context.Context) error { return errors.New("connection refused") })
	span.End()

	for _, span := range spans.Ended() {
		for _, e := range span.Events() {
			fmt.Println(span.Name(), e.Name, e.Attributes[0].Value.String())
		}
		fmt.Println(span.Status().Description)
	}
	// Output:
	// fetch retry 1
	// fetch retry 2
	// fetch exception *retry.Error
	// limit of 2 retries
}

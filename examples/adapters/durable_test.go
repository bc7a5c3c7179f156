package adapters

import (
	"context"
	"errors"
	"testing"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryotel"
)

// A job carries the trace of the request that put it. The spans of the attempts and of the whole operation belong to
// that trace.
func TestDurable_AJobCarriesItsTrace(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("example")
	format := propagation.TraceContext{}

	server, err := embedded.Start(t.TempDir())
	check.Must(t, err)
	defer server.Close()
	nc, err := server.Connect()
	check.Must(t, err)
	defer nc.Close()
	q, err := durable.Open(t.Context(), nc, durable.Config{
		Name: "mail",
		Policy: retry.New(backoff.Constant(time.Millisecond), retry.Limit(3),
			retryotel.Observe("send mail", metricnoop.Meter{}, tracer)),
		Context: func(ctx context.Context, job *durable.Job) context.Context {
			return format.Extract(ctx, propagation.MapCarrier{"traceparent": job.Header.Get("traceparent")})
		},
	})
	check.Must(t, err)
	defer q.Close()

	ctx, request := tracer.Start(t.Context(), "POST /orders")
	carrier := propagation.MapCarrier{}
	format.Inject(ctx, carrier)
	_, err = q.Put(ctx, []byte("letter"), durable.PutHeader("traceparent", carrier["traceparent"]))
	check.Must(t, err)
	request.End()

	working, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	err = q.Work(working, 1, func(ctx context.Context, job *durable.Job) error {
		_, attempt := tracer.Start(ctx, "attempt", trace.WithSpanKind(trace.SpanKindConsumer))
		defer attempt.End()
		if job.Attempt == 1 {
			return errors.New("busy")
		}
		stop()
		return nil
	})
	check.Must(t, err)

	names := map[string]int{}
	for _, span := range spans.Ended() {
		names[span.Name()]++
		if span.SpanContext().TraceID() != request.SpanContext().TraceID() {
			t.Errorf("%s belongs to another trace", span.Name())
		}
	}
	if names["POST /orders"] != 1 || names["attempt"] != 2 || names["send mail"] != 1 {
		t.Errorf("got the spans %v, want a request, two attempts and one operation", names)
	}
}

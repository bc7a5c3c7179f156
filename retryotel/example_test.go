package retryotel_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/retryotel"
)

// The events of the span in which the operation ran. An Example in examples/adapters shows the metrics, as Prometheus
// reads them.
func ExampleObserve() {
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("example")
	meter := metricnoop.Meter{} // a real program has its MeterProvider's

	policy := retry.New(backoff.Exponential(time.Millisecond, 2), retry.Limit(2), retryotel.Observe("load prices", meter, tracer))
	ctx, span := tracer.Start(context.Background(), "GET /prices")
	_ = retry.Run(ctx, policy, func(context.Context) error { return errDown })
	span.End()

	for _, span := range spans.Ended() {
		fmt.Println(span.Name())
		for _, event := range span.Events() {
			fmt.Println(" ", event.Name)
		}
	}
	// Output:
	// load prices
	// GET /prices
	//   retry.scheduled
	//   retry.scheduled
	//   retry.gave_up
}

func ExampleResendCount() {
	var n atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer server.Close()
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("example")

	base := traced{tracer, retryotel.ResendCount(server.Client().Transport)} // otelhttp.NewTransport in a real program
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))
	client := &http.Client{Transport: retryhttp.NewTransport(base, policy)}
	resp, err := client.Get(server.URL)
	if err != nil {
		fmt.Println(err)
		return
	}
	resp.Body.Close()
	for _, span := range spans.Ended() {
		fmt.Print(span.Name())
		for _, a := range span.Attributes() {
			fmt.Print(" ", a.Key, "=", a.Value.AsInt64())
		}
		fmt.Println()
	}
	// Output:
	// GET
	// GET http.request.resend_count=1
	// GET http.request.resend_count=2
}

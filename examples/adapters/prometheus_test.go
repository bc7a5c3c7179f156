package adapters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryotel"
)

// The metrics in Prometheus after two operations, one of which gave up. Alert on an outage that lasts,
//
//	time() - retry_down_since_seconds > 300
//
// A feed that may be idle needs a source that calls stream.Works, or DropHeartbeats: else it is down until its next
// event.
func Example_prometheus() {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo(), exporter.WithoutTargetInfo())
	if err != nil {
		fmt.Println(err)
		return
	}
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("example")

	policy := retry.New(backoff.Exponential(10*time.Millisecond, 2), retry.Limit(2),
		retryotel.Observe("load prices", meter, tracenoop.Tracer{}))
	for _, failures := range []int{1, 9} {
		calls := 0
		_ = retry.Run(context.Background(), policy, func(context.Context) error {
			if calls++; calls <= failures {
				return errors.New("connection refused")
			}
			return nil
		})
	}

	page := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(page, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for line := range strings.Lines(page.Body.String()) {
		if !strings.HasPrefix(line, "#") && !strings.Contains(line, "_bucket") && !strings.Contains(line, "down_time_seconds_sum") && !strings.Contains(line, "duration_seconds_sum") {
			fmt.Print(line)
		}
	}
	// Output:
	// retry_attempt_duration_seconds_count{retry_name="load prices",retry_outcome="failure"} 4
	// retry_attempt_duration_seconds_count{retry_name="load prices",retry_outcome="success"} 1
	// retry_attempts_total{retry_name="load prices",retry_outcome="failure"} 4
	// retry_attempts_total{retry_name="load prices",retry_outcome="success"} 1
	// retry_delay_seconds_sum{error_type="*errors.errorString",retry_name="load prices"} 0.04
	// retry_delay_seconds_count{error_type="*errors.errorString",retry_name="load prices"} 3
	// retry_down{retry_name="load prices"} 0
	// retry_down_time_seconds_count{retry_name="load prices"} 1
	// retry_operations_total{retry_name="load prices",retry_outcome="success",retry_retried="true"} 1
	// retry_operations_total{retry_name="load prices",retry_outcome="exhausted",retry_reason="limit",retry_retried="true"} 1
}

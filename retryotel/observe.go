package retryotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/retrywhen/retrywhen/retry"
)

// Observe returns an option that reports the work of a policy, under a name for the kind of operation, such as "fetch
// prices". The name is the policy's too (retry.Name), so logs and errors have it. The attribute error.type has a value
// for each type of error. The package comment has the metrics. Make the option once for a name: each Observe has gauges
// of its own.
//
// If the span of the operation's context is recorded, it receives the events retry.scheduled (with retry.number,
// retry.delay in seconds, error.type and, for a request of retryhttp, http.request.resend_count), retry.recovered
// (retry.number, retry.down_time) and retry.gave_up (retry.outcome, retry.reason, error.type). Observe does not set the
// span's status.
//
// The tracer makes a span with the name for each operation that failed at least once, from its start to its end, with
// the outcome, the reason and the number of attempts as attributes. The span is made at the end, so the spans of the
// attempts are its siblings, not its children. Observe makes no spans of attempts: the code that sends them does, such
// as otelhttp and otelgrpc, or the function that is retried. A recorded span costs a few microseconds and a kilobyte,
// and its export more.
//
// A meter or a tracer from OpenTelemetry's noop packages reports nothing. The hooks run on the operation's goroutine.
func Observe(name string, meter metric.Meter, tracer trace.Tracer) retry.Option {
	switch {
	case name == "":
		panic("retryotel: Observe: name is empty")
	case meter == nil:
		panic("retryotel: Observe: meter is nil, want one, noop's for none")
	case tracer == nil:
		panic("retryotel: Observe: tracer is nil, want one, noop's for none")
	}
	o := newObserver(name, meter, tracer)
	return retry.JoinOptions(retry.Name(name), retry.OnAttempt(o.attempted), retry.OnOutage(o.outages.begin), retry.OnRetry(o.scheduled),
		retry.OnRecovered(o.recovered), retry.OnGiveUp(o.gaveUp), retry.OnDone(o.done))
}

// observer holds the instruments, and the hooks that use them.
type observer struct {
	name       string
	named      attribute.KeyValue
	tracer     trace.Tracer
	outages    outages
	operations metric.Int64Counter
	attempts   metric.Int64Counter
	duration   metric.Float64Histogram
	delay      metric.Float64Histogram
	downTime   metric.Float64Histogram
}

func newObserver(name string, meter metric.Meter, tracer trace.Tracer) *observer {
	o := &observer{name: name, named: attribute.String("retry.name", name), tracer: tracer}
	named := metric.WithAttributes(o.named)
	var err [8]error
	o.operations, err[0] = meter.Int64Counter("retry.operations", metric.WithUnit("{operation}"),
		metric.WithDescription("Operations under a retry policy that are over."))
	o.attempts, err[1] = meter.Int64Counter("retry.attempts", metric.WithUnit("{attempt}"),
		metric.WithDescription("Attempts that are over."))
	o.duration, err[2] = meter.Float64Histogram("retry.attempt.duration", metric.WithUnit("s"), buckets,
		metric.WithDescription("How long attempts ran."))
	o.delay, err[3] = meter.Float64Histogram("retry.delay", metric.WithUnit("s"), buckets,
		metric.WithDescription("Delays before retries."))
	o.downTime, err[4] = meter.Float64Histogram("retry.down_time", metric.WithUnit("s"), buckets,
		metric.WithDescription("Time from a first failure until an attempt worked."))
	down, failed := meter.Int64ObservableGauge("retry.down", metric.WithUnit("{outage}"),
		metric.WithDescription("1 while an outage lasts, else 0."))
	err[5] = failed
	downSince, failed := meter.Float64ObservableGauge("retry.down_since", metric.WithUnit("s"),
		metric.WithDescription("When the longest present outage began, in seconds since 1970; nothing without an outage."))
	err[6] = failed
	// A meter has one instrument of a name, with the callback of the first Observe only; each Observe registers its own.
	_, err[7] = meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		since := o.outages.since()
		if since.IsZero() {
			to.ObserveInt64(down, 0, named)
			return nil
		}
		to.ObserveInt64(down, 1, named)
		to.ObserveFloat64(downSince, float64(since.UnixMilli())/1e3, named)
		return nil
	}, down, downSince)
	for _, e := range err {
		if e != nil {
			otel.Handle(e)
		}
	}
	return o
}

// Delays are between milliseconds and hours.
var buckets = metric.WithExplicitBucketBoundaries(
	0.001, 0.005, 0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)

func (o *observer) scheduled(ctx context.Context, e retry.Event) {
	failure := errorType(e.Err)
	o.delay.Record(ctx, e.Delay.Seconds(), metric.WithAttributes(o.named, failure))
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent("retry.scheduled", trace.WithAttributes(append(resendCount(ctx, e.N),
			o.named, attribute.Int("retry.number", e.N), attribute.Float64("retry.delay", e.Delay.Seconds()), failure)...))
	}
}

func (o *observer) recovered(ctx context.Context, r retry.Recovery) {
	o.downTime.Record(ctx, r.Down.Seconds(), metric.WithAttributes(o.named))
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent("retry.recovered", trace.WithAttributes(o.named, attribute.Int("retry.number", r.Retries),
			attribute.Float64("retry.down_time", r.Down.Seconds())))
	}
}

func (o *observer) gaveUp(ctx context.Context, e *retry.Error) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		outcome, reason := gaveUp(e)
		span.AddEvent("retry.gave_up", trace.WithAttributes(o.named, outcomeKey.String(outcome), reasonKey.String(reason), errorType(e.Last)))
	}
}

func (o *observer) attempted(ctx context.Context, a retry.AttemptEnd) {
	outcome := outcomeKey.String("success")
	switch {
	case a.Planned:
		outcome = outcomeKey.String("planned")
	case a.Err != nil:
		outcome = outcomeKey.String("failure")
	}
	attributes := metric.WithAttributes(o.named, outcome)
	o.attempts.Add(ctx, 1, attributes)
	o.duration.Record(ctx, a.Lasted.Seconds(), attributes)
}

func (o *observer) done(ctx context.Context, r retry.Result) {
	attributes := append(end(ctx, r), o.named, attribute.Bool("retry.retried", r.Retries > 0))
	o.operations.Add(ctx, 1, metric.WithAttributes(attributes...))
	if r.Attempts == 0 || r.Retries == 0 && r.Err == nil {
		return
	}
	now := time.Now()
	_, span := o.tracer.Start(ctx, o.name, trace.WithTimestamp(now.Add(-r.Elapsed)),
		trace.WithAttributes(append(attributes, attribute.Int("retry.attempts", r.Attempts))...))
	span.End(trace.WithTimestamp(now))
}

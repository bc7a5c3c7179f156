package retryotel_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
	tracenoop "go.opentelemetry.io/otel/trace/noop"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/retryotel"
	"github.com/retrywhen/retrywhen/stream"
)

// must fails the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

var errDown = errors.New("down")

// telemetry is what a policy has reported.
type telemetry struct {
	reader *sdkmetric.ManualReader
	spans  *tracetest.SpanRecorder
	tracer trace.Tracer
	option retry.Option
}

func observe() *telemetry {
	o := &telemetry{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	o.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.spans)).Tracer("test")
	o.option = retryotel.Observe("fetch", sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader)).Meter("test"), o.tracer)
	return o
}

// metrics returns a line for each series: its name, unit, attributes and value.
func (o *telemetry) metrics(t *testing.T) (lines []string) {
	t.Helper()
	var all metricdata.ResourceMetrics
	must(t, o.reader.Collect(context.Background(), &all))
	for _, scope := range all.ScopeMetrics {
		for _, m := range scope.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%s %s%s: %d", m.Name, m.Unit, text(p.Attributes.ToSlice()), p.Value))
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%s %s%s: %d", m.Name, m.Unit, text(p.Attributes.ToSlice()), p.Value))
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%s %s%s: %s", m.Name, m.Unit, text(p.Attributes.ToSlice()), time.UnixMilli(int64(p.Value*1e3)).UTC().Format(time.TimeOnly)))
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					lines = append(lines, fmt.Sprintf("%s %s%s: %d of %v", m.Name, m.Unit, text(p.Attributes.ToSlice()), p.Count, p.Sum))
				}
			}
		}
	}
	slices.Sort(lines)
	return lines
}

// text returns the attributes but for retry.name, which must be there.
func text(attributes []attribute.KeyValue) (s string) {
	named := false
	values := map[string]string{}
	for _, a := range attributes {
		if a.Key == "retry.name" {
			named = a.Value.AsString() == "fetch"
		} else {
			values[string(a.Key)] = a.Value.String()
		}
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		s += " " + key + "=" + values[key]
	}
	if !named {
		s += " without its name"
	}
	return s
}

// ended returns a line for each span and each of its events.
func (o *telemetry) ended() (lines []string) {
	for _, span := range o.spans.Ended() {
		line := fmt.Sprint(span.Name(), " ", span.EndTime().Sub(span.StartTime()))
		if span.Name() == "fetch" {
			line += text(span.Attributes())
		}
		lines = append(lines, line)
		for _, e := range span.Events() {
			lines = append(lines, "- "+e.Name+text(e.Attributes))
		}
	}
	return lines
}

func same(t *testing.T, what string, got []string, want string) {
	t.Helper()
	if got := strings.Join(got, "\n"); got != strings.TrimSpace(want) {
		t.Errorf("%s:\n%s\nwant\n%s", what, got, want)
	}
}

func linear(limit int, opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Linear(time.Second), retry.Limit(limit)).With(opts...)
}

func TestObserve(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe()
		p := linear(3, o.option)
		ctx, span := o.tracer.Start(t.Context(), "request")
		for _, failures := range []int{0, 2, 9} {
			calls := 0
			_ = retry.Run(ctx, p, func(context.Context) error {
				time.Sleep(2 * time.Second)
				if calls++; calls <= failures {
					return errDown
				}
				return nil
			})
		}
		span.End()
		same(t, "metrics", o.metrics(t), `
retry.attempt.duration s retry.outcome=failure: 6 of 12
retry.attempt.duration s retry.outcome=success: 2 of 4
retry.attempts {attempt} retry.outcome=failure: 6
retry.attempts {attempt} retry.outcome=success: 2
retry.delay s error.type=*errors.errorString: 5 of 9
retry.down {outage}: 0
retry.down_time s: 1 of 7
retry.operations {operation} retry.outcome=exhausted retry.reason=limit retry.retried=true: 1
retry.operations {operation} retry.outcome=success retry.retried=false: 1
retry.operations {operation} retry.outcome=success retry.retried=true: 1`)
		same(t, "spans", o.ended(), `
fetch 9s retry.attempts=3 retry.outcome=success retry.retried=true
fetch 14s retry.attempts=4 retry.outcome=exhausted retry.reason=limit retry.retried=true
request 25s
- retry.scheduled error.type=*errors.errorString retry.delay=1 retry.number=1
- retry.scheduled error.type=*errors.errorString retry.delay=2 retry.number=2
- retry.recovered retry.down_time=7 retry.number=2
- retry.scheduled error.type=*errors.errorString retry.delay=1 retry.number=1
- retry.scheduled error.type=*errors.errorString retry.delay=2 retry.number=2
- retry.scheduled error.type=*errors.errorString retry.delay=3 retry.number=3
- retry.gave_up error.type=*errors.errorString retry.outcome=exhausted retry.reason=limit`)
	})
}

func TestReasons(t *testing.T) {
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	document, err := os.ReadFile("../docs/why-not-retried.md")
	must(t, err)
	fail := func(context.Context) error { return errDown }
	send := func(req *http.Request, p retry.Policy, opts ...retryhttp.Option) error {
		base := roundTripper(func(*http.Request) (*http.Response, error) { return nil, errDown })
		_, err := retryhttp.NewTransport(base, p, opts...).RoundTrip(req)
		return err
	}
	for _, c := range []struct {
		outcome, reason string
		run             func(context.Context, retry.Option) error
	}{
		{"exhausted", "limit", func(ctx context.Context, o retry.Option) error { return retry.Run(ctx, linear(0, o), fail) }},
		{"exhausted", "within", func(ctx context.Context, o retry.Option) error {
			return retry.Run(ctx, linear(9, retry.Within(time.Millisecond), o), fail)
		}},
		{"exhausted", "stop_at", func(ctx context.Context, o retry.Option) error {
			return retry.Run(ctx, linear(9, retry.StopAt(time.Millisecond), o), fail)
		}},
		{"exhausted", "max_retry_after", func(ctx context.Context, o retry.Option) error {
			return retry.Run(ctx, linear(9, retry.MaxRetryAfter(time.Second), o), func(context.Context) error { return retry.RetryAfter(errDown, time.Minute) })
		}},
		{"exhausted", "without_retries", func(ctx context.Context, o retry.Option) error {
			return retry.Run(retry.WithoutRetries(ctx), linear(9, o), fail)
		}},
		{"deadline", "deadline", func(ctx context.Context, o retry.Option) error {
			ctx, cancel := context.WithTimeout(ctx, time.Millisecond)
			defer cancel()
			return retry.Run(ctx, linear(1, o), fail)
		}},
		{"budget", "budget", func(ctx context.Context, o retry.Option) error {
			budget := retry.NewBudget(1, 1, 0)
			_ = retry.Run(ctx, linear(1, retry.WithBudget(budget)), fail)
			return retry.Run(ctx, linear(1, o, retry.WithBudget(budget)), fail)
		}},
		{"refused", "permanent", func(ctx context.Context, o retry.Option) error {
			return retry.Run(ctx, linear(1, o), func(context.Context) error { return retry.Permanent(errDown) })
		}},
		{"refused", "permanent", func(ctx context.Context, o retry.Option) error { // of a stream
			return stream.Fail[int](retry.Permanent(errDown)).RetryWhen(linear(1, o)).ForEach(ctx, func(int) {})
		}},
		{"refused", "refused", func(ctx context.Context, o retry.Option) error {
			return retry.Run(ctx, linear(1, o, retry.If(func(error) bool { return false })), fail)
		}},
		{"refused", "refused", func(ctx context.Context, o retry.Option) error { // by an engine
			op := linear(1, o).Start(ctx)
			return op.Done(retry.Outcome{Err: op.Refused(retry.Outcome{Err: errDown})})
		}},
		{"refused", "body", func(ctx context.Context, o retry.Option) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPut, "http://example.test/", io.NopCloser(strings.NewReader("once")))
			return cmp.Or(err, send(req, linear(1, o)))
		}},
		{"refused", "not_idempotent", func(ctx context.Context, o retry.Option) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://example.test/", strings.NewReader("order"))
			return cmp.Or(err, send(req, linear(1, o)))
		}},
		{"canceled", "canceled", func(ctx context.Context, o retry.Option) error {
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Millisecond, cancel)
			return retry.Run(ctx, linear(1, o), fail)
		}},
		{"canceled", "canceled", func(ctx context.Context, o retry.Option) error { // a stream's error is no *retry.Error
			ctx, cancel := context.WithCancel(ctx)
			time.AfterFunc(time.Millisecond, cancel)
			return stream.Fail[int](errDown).RetryWhen(linear(1, o)).ForEach(ctx, func(int) {})
		}},
	} {
		if !strings.Contains(string(document), "| `"+c.reason+"`") {
			t.Errorf("docs/why-not-retried.md does not say what to change if the reason is %s", c.reason)
		}
		synctest.Test(t, func(t *testing.T) {
			o := observe()
			if err := c.run(t.Context(), o.option); !errors.Is(err, errDown) {
				t.Errorf("%s: %v, which does not match the failure", c.reason, err)
			}
			if spans := o.spans.Ended(); len(spans) != 1 || spans[0].Name() != "fetch" {
				t.Errorf("%s: spans %v", c.reason, spans)
			}
			got := strings.Join(o.metrics(t), "\n")
			want := "retry.operations {operation} retry.outcome=" + c.outcome + " retry.reason=" + c.reason + " retry.retried=false: 1\n"
			if !strings.Contains(got+"\n", want) || !strings.Contains(got, "retry.attempts {attempt} retry.outcome=failure: 1") {
				t.Errorf("%s, want %s", got, want)
			}
		})
	}
}

// A feed that lives for long reports each of its attempts when it ends, and its outages while they last.
func TestALongFeed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe()
		runs := 0
		feed := stream.Defer(func(context.Context) stream.Stream[int] {
			if runs++; runs == 2 || runs == 3 {
				return stream.Fail[int](errDown)
			}
			return stream.Of(runs).Concat(stream.FromFunc(func(ctx context.Context) (int, error) {
				select {
				case <-time.After(time.Hour):
				case <-ctx.Done():
				}
				return 0, errDown
			}))
		})
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		policy := retry.New(backoff.Constant(time.Minute), o.option)
		go func() { ended <- feed.RetryWhen(policy).ForEach(ctx, func(int) {}) }()
		at := func(d time.Duration, want string) {
			t.Helper()
			time.Sleep(d)
			synctest.Wait()
			same(t, fmt.Sprint("at ", time.Now().UTC().Format(time.TimeOnly)), slices.DeleteFunc(o.metrics(t), func(line string) bool {
				return strings.HasPrefix(line, "retry.delay")
			}), want)
		}
		at(30*time.Minute, "retry.down {outage}: 0") // works
		at(30*time.Minute+30*time.Second, `
retry.attempt.duration s retry.outcome=failure: 1 of 3600
retry.attempts {attempt} retry.outcome=failure: 1
retry.down {outage}: 1
retry.down_since s: 01:00:00`)
		at(2*time.Minute, `
retry.attempt.duration s retry.outcome=failure: 3 of 3600
retry.attempts {attempt} retry.outcome=failure: 3
retry.down {outage}: 1
retry.down_since s: 01:00:00`)
		at(time.Minute, `
retry.attempt.duration s retry.outcome=failure: 3 of 3600
retry.attempts {attempt} retry.outcome=failure: 3
retry.down {outage}: 0
retry.down_time s: 1 of 180`)
		at(time.Hour, `
retry.attempt.duration s retry.outcome=failure: 4 of 7200
retry.attempts {attempt} retry.outcome=failure: 4
retry.down {outage}: 1
retry.down_since s: 02:03:00
retry.down_time s: 1 of 180`)
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		same(t, "at the end", o.metrics(t)[:6], `
retry.attempt.duration s retry.outcome=failure: 4 of 7200
retry.attempts {attempt} retry.outcome=failure: 4
retry.delay s error.type=*errors.errorString: 4 of 240
retry.down {outage}: 0
retry.down_time s: 1 of 180
retry.operations {operation} retry.outcome=canceled retry.reason=canceled retry.retried=true: 1`)
	})
}

// With several operations of a name, the gauges show the longest outage.
func TestOutagesSideBySide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe()
		policy := linear(1, o.option, retry.WithBackoff(backoff.Constant(10*time.Minute)))
		gauges := func(want string) {
			t.Helper()
			synctest.Wait()
			same(t, "gauges", slices.DeleteFunc(o.metrics(t), func(line string) bool {
				return !strings.HasPrefix(line, "retry.down ") && !strings.HasPrefix(line, "retry.down_since ")
			}), want)
		}
		for range 5 { // operations that begin to fail at 0 to 4 minutes, and give up 10 minutes later
			go func() { _ = retry.Run(t.Context(), policy, func(context.Context) error { return errDown }) }()
			gauges("retry.down {outage}: 1\nretry.down_since s: 00:00:00")
			time.Sleep(time.Minute)
		}
		time.Sleep(5*time.Minute + 30*time.Second)
		gauges("retry.down {outage}: 1\nretry.down_since s: 00:01:00")
		time.Sleep(4 * time.Minute)
		gauges("retry.down {outage}: 0")
	})
}

// Each name of one meter has gauges of its own.
func TestTwoNamesOfOneMeter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reader := sdkmetric.NewManualReader()
		meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("test")
		fails := func(name string, n int) {
			p := linear(n, retryotel.Observe(name, meter, tracenoop.Tracer{}), retry.WithBackoff(backoff.Constant(10*time.Minute)))
			go func() { _ = retry.Run(t.Context(), p, func(context.Context) error { return errDown }) }()
			time.Sleep(time.Minute)
		}
		fails("one", 1)
		fails("two", 1)
		fails("up", 0)
		var all metricdata.ResourceMetrics
		must(t, reader.Collect(t.Context(), &all))
		got := map[string]float64{}
		for _, m := range all.ScopeMetrics[0].Metrics {
			switch data := m.Data.(type) {
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					name, _ := p.Attributes.Value("retry.name")
					got[m.Name+" "+name.AsString()] = float64(p.Value)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					name, _ := p.Attributes.Value("retry.name")
					got[m.Name+" "+name.AsString()] = p.Value - float64(time.Now().Unix())
				}
			}
		}
		want := map[string]float64{"retry.down one": 1, "retry.down two": 1, "retry.down up": 0, "retry.down_since one": -180, "retry.down_since two": -120}
		if !maps.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		time.Sleep(time.Hour)
	})
}

// The metrics are those of the package comment's table, and their names follow OpenTelemetry's conventions.
func TestTheTable(t *testing.T) {
	source, err := os.ReadFile("doc.go")
	must(t, err)
	var want []string
	_, rest, _ := strings.Cut(string(source), "further attributes\n")
	for line := range strings.Lines(rest) {
		if !strings.HasPrefix(line, "//\t") {
			break
		}
		want = append(want, strings.Join(strings.Fields(strings.TrimPrefix(line, "//")), " "))
	}
	synctest.Test(t, func(t *testing.T) {
		o := observe()
		for _, failures := range []int{1, 9} {
			calls := 0
			_ = retry.Run(t.Context(), linear(1, o.option), func(context.Context) error {
				if calls++; calls <= failures {
					return errDown
				}
				return nil
			})
		}
		go func() {
			_ = retry.Run(t.Context(), linear(1, o.option), func(context.Context) error { return errDown })
		}()
		synctest.Wait()
		var all metricdata.ResourceMetrics
		must(t, o.reader.Collect(t.Context(), &all))
		var got []string
		for _, m := range all.ScopeMetrics[0].Metrics {
			if !regexp.MustCompile(`^retry(\.[a-z]+(_[a-z]+)*)+$`).MatchString(m.Name) || m.Description == "" || !slices.Contains([]string{"s", "{outage}", "{operation}", "{attempt}"}, m.Unit) {
				t.Errorf("%s has the unit %q and the description %q", m.Name, m.Unit, m.Description)
			}
			kind, keys := "", map[attribute.Key]bool{}
			add := func(k string, set attribute.Set) {
				kind = k
				for _, a := range set.ToSlice() {
					keys[a.Key] = a.Key != "retry.name"
				}
			}
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					add("counter", p.Attributes)
				}
				if !data.IsMonotonic || strings.HasSuffix(m.Name, "_total") {
					t.Errorf("%s is no counter by its name or its kind", m.Name)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					add("gauge", p.Attributes)
				}
			case metricdata.Gauge[float64]:
				for _, p := range data.DataPoints {
					add("gauge", p.Attributes)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					add("histogram", p.Attributes)
				}
			}
			if further, ok := keys["retry.name"]; !ok || further {
				t.Errorf("%s lacks retry.name", m.Name)
			}
			line := []string{m.Name, kind, m.Unit}
			var names []string
			for key, further := range keys {
				if further {
					names = append(names, string(key))
				}
			}
			slices.Sort(names)
			if len(names) > 0 {
				line = append(line, strings.Join(names, ", "))
			}
			got = append(got, strings.Join(line, " "))
		}
		slices.Sort(got)
		slices.Sort(want)
		same(t, "table", got, strings.Join(want, "\n"))
	})
}

func TestAnInnerPolicysErrorIsRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe()
		outer := linear(1, o.option, retry.If(func(error) bool { return false }))
		_ = retry.Run(t.Context(), outer, func(ctx context.Context) error {
			return retry.Run(ctx, linear(2), func(context.Context) error { return errDown })
		})
		if got := strings.Join(o.metrics(t), "\n"); !strings.Contains(got, "retry.outcome=refused retry.reason=refused retry.retried=false: 1") {
			t.Error(got)
		}
	})
}

func TestAnOperationWithoutAnAttempt(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	o := observe()
	_ = retry.Run(ctx, linear(1, o.option), func(context.Context) error { return nil })
	same(t, "metrics", o.metrics(t), `
retry.down {outage}: 0
retry.operations {operation} retry.outcome=canceled retry.reason=canceled retry.retried=false: 1`)
	same(t, "spans", o.ended(), "")
}

// traced makes a span of each request that is sent, as otelhttp's transport does.
type traced struct {
	tracer trace.Tracer
	base   http.RoundTripper
}

func (t traced) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, span := t.tracer.Start(r.Context(), r.Method)
	defer span.End()
	return t.base.RoundTrip(r.WithContext(ctx))
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe()
		sent := 0
		base := roundTripper(func(r *http.Request) (*http.Response, error) {
			sent++
			return &http.Response{StatusCode: map[int]int{1: 503, 2: 503, 3: 200}[sent], Body: http.NoBody, Request: r}, nil
		})
		ctx, span := o.tracer.Start(t.Context(), "page")
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.test/", nil)
		must(t, err)
		transport := retryhttp.NewTransport(traced{o.tracer, retryotel.ResendCount(base)}, linear(3, o.option))
		if resp, err := transport.RoundTrip(req); err != nil || resp.StatusCode != 200 {
			t.Errorf("%v, %v", resp, err)
		}
		span.End()
		same(t, "spans", o.ended(), `
GET 0s
GET 0s
GET 0s
fetch 3s retry.attempts=3 retry.outcome=success retry.retried=true
page 3s
- retry.scheduled error.type=503 http.request.resend_count=1 retry.delay=1 retry.number=1
- retry.scheduled error.type=503 http.request.resend_count=2 retry.delay=2 retry.number=2
- retry.recovered retry.down_time=3 retry.number=2`)
		for n, span := range o.spans.Ended()[:3] {
			got := attribute.NewSet(span.Attributes()...)
			if count, ok := got.Value("http.request.resend_count"); ok != (n > 0) || n > 0 && count.AsInt64() != int64(n) {
				t.Errorf("request %d has the resend count %v, %t", n+1, count, ok)
			}
		}
	})
}

func TestResendCountsBase(t *testing.T) {
	closed := false
	retryotel.ResendCount(closer{&closed}).(interface{ CloseIdleConnections() }).CloseIdleConnections()
	if !closed {
		t.Error("the base's connections stay open")
	}
	retryotel.ResendCount(roundTripper(nil)).(interface{ CloseIdleConnections() }).CloseIdleConnections()
}

func TestResendCountOfNilUsesTheDefault(t *testing.T) {
	before := http.DefaultTransport
	defer func() { http.DefaultTransport = before }()
	http.DefaultTransport = roundTripper(func(*http.Request) (*http.Response, error) { return nil, errDown })
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.test", nil)
	must(t, err)
	if _, err := retryotel.ResendCount(nil).RoundTrip(req); err != errDown {
		t.Errorf("got %v, want the default transport's %v", err, errDown)
	}
}

type closer struct{ closed *bool }

func (closer) RoundTrip(*http.Request) (*http.Response, error) { return nil, errDown }
func (c closer) CloseIdleConnections()                         { *c.closed = true }

// badMeter makes instruments that do nothing, with an error.
type badMeter struct{ metricnoop.Meter }

func (badMeter) Int64Counter(name string, _ ...metric.Int64CounterOption) (metric.Int64Counter, error) {
	return metricnoop.Int64Counter{}, errors.New("bad " + name)
}

func (badMeter) Float64Histogram(name string, _ ...metric.Float64HistogramOption) (metric.Float64Histogram, error) {
	return metricnoop.Float64Histogram{}, errors.New("bad " + name)
}

func (badMeter) Int64ObservableGauge(name string, _ ...metric.Int64ObservableGaugeOption) (metric.Int64ObservableGauge, error) {
	return metricnoop.Int64ObservableGauge{}, errors.New("bad " + name)
}

func (badMeter) Float64ObservableGauge(name string, _ ...metric.Float64ObservableGaugeOption) (metric.Float64ObservableGauge, error) {
	return metricnoop.Float64ObservableGauge{}, errors.New("bad " + name)
}

func (badMeter) RegisterCallback(metric.Callback, ...metric.Observable) (metric.Registration, error) {
	return metricnoop.Registration{}, errors.New("bad callback")
}

func TestErrorsOfInstrumentsAreReported(t *testing.T) {
	var got []string
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { got = append(got, fmt.Sprint(err)) }))
	retryotel.Observe("fetch", metricnoop.Meter{}, tracenoop.Tracer{})
	retryotel.Observe("fetch", badMeter{}, tracenoop.Tracer{})
	want := []string{"bad retry.operations", "bad retry.attempts", "bad retry.attempt.duration", "bad retry.delay",
		"bad retry.down_time", "bad retry.down", "bad retry.down_since", "bad callback"}
	if !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
}

func TestMistakesPanic(t *testing.T) {
	meter, tracer := metricnoop.Meter{}, tracenoop.Tracer{}
	for want, f := range map[string]func(){
		"retryotel: Observe: name is empty":                            func() { retryotel.Observe("", meter, tracer) },
		"retryotel: Observe: meter is nil, want one, noop's for none":  func() { retryotel.Observe("x", nil, tracer) },
		"retryotel: Observe: tracer is nil, want one, noop's for none": func() { retryotel.Observe("x", meter, nil) },
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); got != want {
					t.Errorf("panic %q, want %q", got, want)
				}
			}()
			f()
		}()
	}
	_ = retry.Run(t.Context(), linear(0, retryotel.Observe("x", meter, tracer)), func(context.Context) error { return errDown })
}

// A planned end is neither a failure nor an outage, and an operation with no other end has no span.
func TestObserve_Planned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := observe()
		run := 0
		_ = stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
			time.Sleep(5 * time.Minute)
			if run++; !yield(run) || run == 4 {
				return nil
			}
			return retry.Planned(errDown)
		}).RetryWhen(linear(1, o.option)).ForEach(t.Context(), func(int) {})
		same(t, "metrics", o.metrics(t), `
retry.attempt.duration s retry.outcome=planned: 3 of 900
retry.attempt.duration s retry.outcome=success: 1 of 300
retry.attempts {attempt} retry.outcome=planned: 3
retry.attempts {attempt} retry.outcome=success: 1
retry.down {outage}: 0
retry.operations {operation} retry.outcome=success retry.retried=false: 1`)
		same(t, "spans", o.ended(), "")
	})
}

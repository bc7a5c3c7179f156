package retry_test

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

var errGoAway = errors.New("GOAWAY")

// watch is a feed whose attempts end as ends say: "v" is a value, "w" a call of Works, "p" a planned end, "#" a
// failure, "P" a permanent planned end, "d" one that dictates a minute, "|" an end. Each attempt lasts 5 minutes.
func watch(ends ...string) stream.Stream[int] {
	run := 0
	return func(ctx context.Context, yield func(int) bool) error {
		script := ends[min(run, len(ends)-1)]
		run++
		for _, c := range script {
			switch c {
			case 'v':
				if !yield(run) {
					return nil
				}
			case 'w':
				stream.Works(ctx)
			case '-':
				select {
				case <-time.After(5 * time.Minute):
				case <-ctx.Done():
					return ctx.Err()
				}
			case 'p':
				return retry.Planned(errGoAway)
			case 'P':
				return retry.Planned(retry.Permanent(errGoAway))
			case 'd':
				return retry.Planned(retry.RetryAfter(errGoAway, time.Minute))
			case '#':
				return errBoom
			}
		}
		return nil
	}
}

// A day of a watch that its server ends every five minutes: no WARN, no outage, a full budget.
func TestPlanned_ADay(t *testing.T) {
	for name, test := range map[string]struct {
		ends, want string
	}{
		"planned":  {"v-p", "288 attempts, 0 WARN, 0 outages, 0 retries, 10 tokens, Result 288/0"},
		"failures": {"v-#", "288 attempts, 287 WARN, 287 outages, 287 retries, 10 tokens, Result 288/287"},
	} {
		for kind, handler := range handlers {
			bubble(t, name+", "+kind, func(t *testing.T) {
				var r reports
				var log bytes.Buffer
				budget := retry.NewBudget(10, 1, 1)
				retries := 0
				p := retry.New(backoff.Constant(time.Second), retry.Limit(1), retry.ResetAfterItems(1), retry.WithBudget(budget), logTo(&log),
					retry.OnRetry(func(context.Context, retry.Event) { retries++ })).With(r.options()...)
				ctx, cancel := context.WithTimeoutCause(t.Context(), 24*time.Hour, io.EOF)
				defer cancel()
				err := watch(test.ends).RetryWhen(handler(p)).ForEach(ctx, func(int) {})
				if !errors.Is(err, io.EOF) || errors.Is(err, errGoAway) {
					t.Errorf("ended with %v", err)
				}
				got := fmt.Sprintf("%d attempts, %d WARN, %d outages, %d retries, %v tokens, Result %d/%d", len(r.attempts), strings.Count(log.String(), "level=WARN"),
					r.outages, retries, budget.Tokens(), r.done[0].Attempts, r.done[0].Retries)
				if got != test.want {
					t.Errorf("got  %s\nwant %s", got, test.want)
				}
			})
		}
	}
}

// What a planned end is for a policy, and how an operation ends with one. delays are the waits before the attempts.
func TestPlanned(t *testing.T) {
	linear := retry.New(backoff.Linear(time.Second))
	none := retry.OnGiveUp(func(context.Context, *retry.Error) {})
	for name, c := range map[string]struct {
		ends    []string
		opts    []retry.Option
		timeout time.Duration
		delays  []float64
		gave    string // OnGiveUp's error
		want    error  // in the stream's
	}{
		"the delay is the first":         {[]string{"#", "#", "vp", "vp", "|"}, nil, 0, []float64{1, 2, 1, 1}, "", nil},
		"the count goes on after it":     {[]string{"#", "#", "vp", "#", "|"}, nil, 0, []float64{1, 2, 1, 3}, "", nil},
		"a reset is one":                 {[]string{"#", "#", "vp", "#", "|"}, []retry.Option{retry.ResetAfterItems(1)}, 0, []float64{1, 2, 1, 1}, "", nil},
		"Works is enough":                {[]string{"#", "#", "wp", "|"}, nil, 0, []float64{1, 2, 1}, "", nil},
		"Works in the first attempt":     {[]string{"wp", "#", "|"}, nil, 0, []float64{1, 1}, "", nil},
		"without it it is a failure":     {[]string{"p", "p", "p", "|"}, nil, 0, []float64{1, 2, 3}, "", nil},
		"an end of before does not work": {[]string{"vp", "p", "p", "|"}, nil, 0, []float64{1, 1, 2}, "", nil},
		"with jitter":                    {[]string{"vp", "|"}, []retry.Option{retry.WithBackoff(backoff.Linear(time.Second).Jitter(jitter.Full)), retry.WithRand(func() float64 { return 0.25 })}, 0, []float64{0.25}, "", nil},
		"tiled keeps its place":          {[]string{"#", "vp", "#", "|"}, []retry.Option{retry.WithBackoff(backoff.Linear(time.Second).Tiled()), retry.WithRand(places(0.5, 0.25))}, 0, []float64{0.5, 0.25, 1.5}, "", nil},
		"BackoffFor":                     {[]string{"vp", "|"}, []retry.Option{retry.BackoffFor(is(errGoAway), backoff.Constant(7*time.Second))}, 0, []float64{7}, "", nil},
		"a dictated delay":               {[]string{"vd", "|"}, nil, 0, []float64{60}, "", nil},
		"If is not asked":                {[]string{"vp", "|"}, []retry.Option{retry.If(func(error) bool { return false })}, 0, []float64{1}, "", nil},
		"an empty budget":                {[]string{"vp", "|"}, []retry.Option{retry.WithBudget(emptyBudget())}, 0, []float64{1}, "", nil},
		"Limit counts none":              {[]string{"vp", "vp", "#", "#", "vp", "#"}, []retry.Option{retry.Limit(2)}, 0, []float64{1, 1, 1, 2, 1}, "limit of 2 retries, boom, 6 attempts, 2 retries", errBoom},
		"Within counts from a failure":   {[]string{"v-p", "v-p", "#", "|"}, []retry.Option{retry.Within(time.Second)}, 0, []float64{1, 1, 1}, "", nil},
		"Within less than the delay":     {[]string{"vp"}, []retry.Option{retry.Within(time.Second - 1)}, 0, nil, "time limit of 999.999999ms, GOAWAY, 1 attempts, 0 retries", errGoAway},
		"Permanent":                      {[]string{"vP"}, nil, 0, nil, "", errGoAway},
		"Limit(0)":                       {[]string{"vp"}, []retry.Option{retry.Limit(0)}, 0, nil, "limit of 0 retries, GOAWAY, 1 attempts, 0 retries", errGoAway},
		"StopAt":                         {[]string{"vp"}, []retry.Option{retry.StopAt(time.Second)}, 0, nil, "delay limit of 1s, the next wait would be 1s, GOAWAY, 1 attempts, 0 retries", errGoAway},
		"StopAt looks at the first":      {[]string{"#", "vp", "vp", "|"}, []retry.Option{retry.StopAt(2 * time.Second)}, 0, []float64{1, 1, 1}, "", nil},
		"MaxRetryAfter":                  {[]string{"#", "vd"}, []retry.Option{retry.MaxRetryAfter(time.Second)}, 0, []float64{1}, "limit of dictated delays of 1s, the next wait would be 1m, GOAWAY, 2 attempts, 0 retries", errGoAway},
		"BeforeFirstItem":                {[]string{"vp"}, []retry.Option{retry.BeforeFirstItem()}, 0, nil, "", errGoAway},
		"BeforeFirstItem, Works":         {[]string{"wp", "|"}, []retry.Option{retry.BeforeFirstItem()}, 0, []float64{1}, "", nil},
		"the deadline":                   {[]string{"vp"}, nil, time.Second, nil, "the wait would pass the context's deadline, GOAWAY, 1 attempts, 0 retries", errGoAway},
	} {
		for kind, handler := range handlers {
			bubble(t, name+", "+kind, func(t *testing.T) {
				var at []time.Time
				var gave string
				ctx, cancel := context.WithTimeout(t.Context(), cmp.Or(c.timeout, 24*time.Hour))
				defer cancel()
				opts := c.opts
				if name == "an empty budget" {
					opts = []retry.Option{retry.WithBudget(emptyBudget())}
				}
				if name == "tiled keeps its place" {
					opts = []retry.Option{opts[0], retry.WithRand(places(0.5, 0.25))}
				}
				p := linear.With(none, retry.OnGiveUp(func(_ context.Context, e *retry.Error) {
					gave = fmt.Sprintf("%v, %v, %d attempts, %d retries", e.Cause, e.Last, e.Attempts, e.Retries)
				})).With(opts...)
				var ended time.Time
				src := watch(c.ends...)
				var waits []float64
				err := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
					if at = append(at, time.Now()); len(at) > 1 {
						waits = append(waits, time.Since(ended).Seconds())
					}
					defer func() { ended = time.Now() }()
					return src(ctx, yield)
				}).RetryWhen(handler(p)).ForEach(ctx, func(int) {})
				if !slices.Equal(waits, c.delays) || gave != c.gave || (err == nil) != (c.want == nil) || !errors.Is(err, c.want) {
					t.Errorf("waited %v, gave up with %q, ended with %v; want %v, %q, %v", waits, gave, err, c.delays, c.gave, c.want)
				}
			})
		}
	}
}

func emptyBudget() *retry.Budget {
	b := retry.NewBudget(1, 1, 0)
	b.Add(-1)
	return b
}

// places draws the numbers in turn.
func places(all ...float64) func() float64 {
	n := -1
	return func() float64 { n++; return all[n%len(all)] }
}

// Under WithoutRetries a planned end is not followed by another attempt.
func TestPlanned_WithoutRetries(t *testing.T) {
	err := watch("vp").RetryWhen(every(0)).ForEach(retry.WithoutRetries(t.Context()), func(int) {})
	if !errors.Is(err, retry.ErrWithoutRetries) || !errors.Is(err, errGoAway) {
		t.Error(err)
	}
}

// Once the context has ended, a planned end is in no error: neither of the attempt that it ended, nor of a wait, nor of
// the attempt after it.
func TestPlanned_InNoErrorOnceTheContextHasEnded(t *testing.T) {
	for name, c := range map[string]struct {
		ends []string
		at   time.Duration
	}{
		"in a wait":              {[]string{"v-p"}, 5*time.Minute + time.Second},
		"in the attempt after":   {[]string{"v-p", "-"}, 6 * time.Minute},
		"in the third attempt":   {[]string{"v-p", "w-p", "v-|"}, 11 * time.Minute},
		"in a wait, by Works":    {[]string{"w-p"}, 5*time.Minute + time.Second},
		"a failure is forgotten": {[]string{"#", "w-p", "-"}, 7 * time.Minute},
	} {
		for kind, handler := range handlers {
			bubble(t, name+", "+kind, func(t *testing.T) {
				ctx, cancel := context.WithTimeoutCause(t.Context(), c.at, io.EOF)
				defer cancel()
				var done error
				p := every(30*time.Second, retry.OnDone(func(_ context.Context, r retry.Result) { done = r.Err }))
				ctx = hideDeadline{ctx}
				err := watch(c.ends...).RetryWhen(handler(p)).ForEach(ctx, func(int) {})
				for _, e := range []error{err, done} {
					if !errors.Is(e, io.EOF) || errors.Is(e, errGoAway) || errors.Is(e, errBoom) {
						t.Errorf("got %v", e)
					}
				}
			})
		}
	}
}

// Without a sign of life it is a failure, and in the error.
func TestPlanned_ThatDidNotWorkIsInTheError(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, io.EOF)
		defer cancel()
		err := watch("p").RetryWhen(every(30*time.Second)).ForEach(hideDeadline{ctx}, func(int) {})
		if !errors.Is(err, io.EOF) || !errors.Is(err, errGoAway) {
			t.Error(err)
		}
	})
}

// hideDeadline is a context whose deadline no policy sees.
type hideDeadline struct{ context.Context }

func (hideDeadline) Deadline() (time.Time, bool) { return time.Time{}, false }

// In Attempts an attempt works by Reset. In calls the mark has no effect.
func TestPlanned_Attempts(t *testing.T) {
	bubble(t, "Attempts", func(t *testing.T) {
		var r reports
		var log bytes.Buffer
		p := retry.New(backoff.Linear(time.Second), logTo(&log)).With(r.options()...)
		start := time.Now()
		for a, err := range p.Attempts(t.Context()) {
			check.Must(t, err)
			switch a.N() {
			case 1, 2:
				a.Reset()
				a.Fail(retry.Planned(errGoAway))
			case 3, 4:
				a.Fail(retry.Planned(errBoom))
			}
		}
		if time.Since(start) != 5*time.Second || !slices.Equal(r.attempts, []int{1, 2, 3, 4, 5}) || !slices.Equal(r.works, []int{1, 2, 5}) || r.outages != 1 || r.recovered != 1 || r.done[0].Retries != 2 {
			t.Errorf("%v, %+v", time.Since(start), r)
		}
		if text := log.String(); strings.Count(text, "level=DEBUG") != 3 || strings.Count(text, `level=DEBUG msg="going on after a planned end" delay=1s dictated=false lasted=0s error=GOAWAY`) != 2 {
			t.Errorf("got\n%s", text)
		}
	})
	bubble(t, "cancelled in the wait", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(2500*time.Millisecond, func() { cancel(io.EOF) })
		var end error
		for a, err := range every(time.Second).Attempts(ctx) {
			if end = err; err == nil {
				a.Reset()
				a.Fail(retry.Planned(errGoAway))
			}
		}
		if e, ok := errors.AsType[*retry.Error](end); !ok || e.Last != nil || e.Attempts != 3 || e.Retries != 0 || e.Elapsed != 0 || errors.Is(end, errGoAway) ||
			end.Error() != "retry: EOF: after 3 attempts" {
			t.Errorf("got %v", end)
		}
	})
	bubble(t, "cancelled in the attempt", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		for a, err := range every(time.Second).Attempts(ctx) {
			if err != nil {
				if e, ok := errors.AsType[*retry.Error](err); !ok || e.Last != nil || !errors.Is(err, io.EOF) || errors.Is(err, errGoAway) {
					t.Errorf("got %v", err)
				}
				continue
			}
			a.Reset()
			cancel(io.EOF)
			a.Fail(retry.Planned(errGoAway))
		}
	})
	for name, call := range map[string]func(context.Context, retry.Policy, func(context.Context) error) error{
		"Run": retry.Run,
		"MapRetry": func(ctx context.Context, p retry.Policy, f func(context.Context) error) error {
			return operators.MapRetry(stream.Of(1), p, func(ctx context.Context, _ int) (int, error) { return 0, f(ctx) }, operators.MapRetryOptions[int]{}).
				ForEach(ctx, func(int) {})
		},
	} {
		bubble(t, name, func(t *testing.T) {
			calls := 0
			err := call(t.Context(), every(time.Second, retry.Limit(2)), func(context.Context) error { calls++; return retry.Planned(errGoAway) })
			if !errors.Is(err, retry.ErrLimit) || calls != 3 {
				t.Errorf("%d calls, %v", calls, err)
			}
		})
	}
}

// AttemptEnd says what was planned: not the end of an attempt that has not worked, however it is marked.
func TestPlanned_AttemptEnd(t *testing.T) {
	for kind, handler := range handlers {
		bubble(t, kind, func(t *testing.T) {
			var planned []bool
			p := every(time.Second, retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) { planned = append(planned, a.Planned) }))
			_ = watch("vp", "p", "#", "wp", "v|").RetryWhen(handler(p)).ForEach(t.Context(), func(int) {})
			if want := []bool{true, false, false, true, false}; !slices.Equal(planned, want) {
				t.Errorf("got %v, want %v", planned, want)
			}
		})
	}
}

func TestPlanned_TheMark(t *testing.T) {
	marked := retry.Planned(errGoAway)
	for err, want := range map[error]bool{nil: false, errGoAway: false, marked: true, fmt.Errorf("reading: %w", marked): true, retry.Permanent(marked): true} {
		if retry.IsPlanned(err) != want {
			t.Errorf("%v: %t", err, !want)
		}
	}
	if retry.Planned(nil) != nil || marked.Error() != "GOAWAY" || !errors.Is(marked, errGoAway) {
		t.Error(marked)
	}
	var seen error
	_ = watch("vp", "|").RetryWhen(answers(func(all failures) failures {
		return all.Tap(func(f stream.Failure) { seen = f.Err })
	})).ForEach(t.Context(), func(int) {})
	if !retry.IsPlanned(seen) {
		t.Errorf("a function sees %v", seen)
	}
}

// A State keeps the number of planned ends, so that another process reports the same.
func TestPlanned_State(t *testing.T) {
	bubble(t, "", func(t *testing.T) {
		var done retry.Result
		p := every(time.Second, retry.OnDone(func(_ context.Context, r retry.Result) { done = r }))
		op := p.Start(t.Context())
		fail := func(err error, works bool, want string) {
			time.Sleep(time.Second)
			if works {
				op.Works()
			}
			if _, end := op.Failed(retry.Outcome{Err: err}); end != nil {
				t.Fatal(end)
			}
			text, err := op.State().MarshalText()
			if err != nil || string(text) != want {
				t.Errorf("got %s, %v, want %s", text, err, want)
			}
			var s retry.State
			check.Must(t, s.UnmarshalText(text))
			op = p.Continue(t.Context(), s, err)
		}
		fail(retry.Planned(errGoAway), true, "attempts=1 planned=1")
		fail(errBoom, false, "attempts=2 planned=1 first=2000-01-01T00:00:02Z began=2000-01-01T00:00:01Z retries=1 since=2000-01-01T00:00:02Z previous=1s")
		fail(retry.Planned(errGoAway), true, "attempts=3 planned=2 first=2000-01-01T00:00:02Z began=2000-01-01T00:00:01Z failures=0 retries=1 since=2000-01-01T00:00:02Z previous=1s")
		if _ = op.Done(retry.Outcome{}); done.Attempts != 4 || done.Retries != 1 {
			t.Errorf("done %+v", done)
		}
	})
	var s retry.State
	for _, text := range []string{"attempts=1 planned=2", "attempts=1 planned=-1"} {
		if s.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%s is no error: %+v", text, s)
		}
	}
}

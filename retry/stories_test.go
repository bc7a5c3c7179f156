package retry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// A story is what one operation goes through. Every driver of a policy reports it alike, except where the story says
// so.
type story struct {
	turns  []turn
	opts   []retry.Option
	cancel time.Duration // when the operation's context ends, 0: never
	fire   time.Duration // when the policy's signal fires, 0: never
	want   string        // the hooks and the log, the result and the tokens spent and refunded, separated by |
	hidden string        // if the handler hides the policy, and no failure reaches it
	other  map[string]string
}

// turn is one attempt. It runs for a second, unless it hangs.
type turn struct {
	err   error
	works bool // before it fails: a value, or Reset
	hangs bool // until its context ends, whose error it returns; then err is the text around it
}

var (
	errA, errB = errors.New("A"), errors.New("B")
	errCause   = errors.New("shut down")
)

// play makes the story's attempts in order.
type play struct {
	turns []turn
	began int
}

// attempt makes the next attempt. It calls works if the attempt works before it ends.
func (p *play) attempt(ctx context.Context, works func()) error {
	t := p.turns[p.began]
	p.began++
	if t.works {
		time.Sleep(time.Second)
		works()
	}
	if t.hangs {
		<-ctx.Done()
		return fmt.Errorf("%w: %w", t.err, ctx.Err())
	}
	if !t.works {
		time.Sleep(time.Second)
	}
	return t.err
}

// storyDrivers are the ways to run an operation under a policy.
var storyDrivers = map[string]func(ctx context.Context, p retry.Policy, story *play) error{
	"Run": func(ctx context.Context, p retry.Policy, story *play) error {
		return retry.Run(ctx, p, func(ctx context.Context) error { return story.attempt(ctx, func() {}) })
	},
	"Attempts": func(ctx context.Context, p retry.Policy, story *play) error {
		for a, err := range p.Attempts(ctx) {
			if err != nil {
				return err
			}
			a.Fail(story.attempt(ctx, a.Reset))
		}
		return nil
	},
	"RetryWhen": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(p).ForEach(ctx, func(int) {})
	},
	"RetryWhen/a pointer": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(&p).ForEach(ctx, func(int) {})
	},
	"RetryWhen/Around, TakeUntilDone": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(p.Around(func(answers failures) failures {
			return answers.TakeUntilDone(make(chan struct{}))
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/Around, Merge": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(p.Around(func(answers failures) failures {
			return answers.Merge(stream.Never[stream.Failure]())
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/embedded, another one derived": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(derives{p}).ForEach(ctx, func(int) {})
	},
	"RetryWhen/derived, Around": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(func(all failures) failures {
			return p.With().Around(func(answers failures) failures { return answers.Buffer(1) }).Handle(all)
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/WithClock, Merge": func(ctx context.Context, p retry.Policy, story *play) error {
		p = p.With(retry.WithClock(ownClock{}))
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(func(all failures) failures {
			return p.Handle(all).Merge(all.Delay(time.Hour))
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/function": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(p.Handle)).ForEach(ctx, func(int) {})
	},
	"RetryWhen/operators.RetryWhen": func(ctx context.Context, p retry.Policy, story *play) error {
		return operators.RetryWhen(storySource(story), p.Handle).ForEach(ctx, func(int) {})
	},
	"RetryWhen/a run for each failure": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(func(all failures) failures {
			return operators.ConcatMap(all, func(f stream.Failure) failures { return p.Handle(stream.Of(f)) })
		})).ForEach(ctx, func(int) {})
	},
	"RetryWhen/two runs": func(ctx context.Context, p retry.Policy, story *play) error {
		return storySource(story).RetryWhen(stream.RetryHandlerFunc(func(all failures) failures {
			return p.Handle(all).Merge(p.Handle(all))
		})).ForEach(ctx, func(int) {})
	},
	"MapRetry": func(ctx context.Context, p retry.Policy, story *play) error {
		call := func(ctx context.Context, _ int) (int, error) { return 0, story.attempt(ctx, func() {}) }
		return operators.MapRetry(stream.Of(0), p, call, operators.MapRetryOptions[int]{}).ForEach(ctx, func(int) {})
	},
	"retryhttp": func(ctx context.Context, p retry.Policy, story *play) error {
		base := storyTransport(func(r *http.Request) (*http.Response, error) {
			if err := story.attempt(r.Context(), func() {}); err != nil {
				return nil, err
			}
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, nil
		})
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://example.test", nil)
		if err != nil {
			return err
		}
		response, err := retryhttp.NewTransport(base, p).RoundTrip(r)
		if err == nil {
			err = response.Body.Close()
		}
		return err
	},
}

type failures = stream.Stream[stream.Failure]

// derives is a handler that embeds a policy, and answers by another one made of it.
type derives struct{ retry.Policy }

func (d derives) Handle(all failures) failures { return d.Policy.With().Handle(all) }

func storySource(story *play) stream.Stream[int] {
	return func(ctx context.Context, yield func(int) bool) error {
		return story.attempt(ctx, func() { yield(1) })
	}
}

type storyTransport func(*http.Request) (*http.Response, error)

func (f storyTransport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// oneRetry is how a story begins whose first attempt fails with A.
const oneRetry = "#1 in 1s: A|down 1: A|WARN retrying after a failure|retry 1: A|"

// stories are the rules of docs/semantics.md, "What each driver reports". Delays are 2 s. The budget has 5 tokens of
// 10 at the start; a retry costs 1 and a success refunds 1.
var stories = map[string]story{
	"works at once": {
		turns:  []turn{{}},
		want:   "#1 in 1s: nil|done 1 in 1s: nil|nil|6 tokens",
		hidden: "nil|5 tokens",
	},
	"fails once and works": {
		turns: []turn{{err: errA}, {}},
		want:  oneRetry + "#2 in 1s: nil|up 1|INFO recovered|recovered by 1 after 3s: A|done 2 in 4s: nil|nil|5 tokens",
	},
	"gives up": {
		turns: []turn{{err: errA}, {err: errA}, {err: errB}},
		opts:  []retry.Option{retry.Limit(2)},
		want:  oneRetry + "#2 in 1s: A|DEBUG retrying after a failure|retry 2: A|#3 in 1s: B|ERROR giving up|gave up: limit of 2 retries, last B, 3 in 6s, row 2 in 6s|up 1|done 3 in 7s: returned|limit of 2 retries, last B, 3 in 6s, row 2 in 6s|3 tokens",
	},
	"permanent": {
		turns: []turn{{err: errA}, {err: retry.Permanent(errB)}},
		want:  oneRetry + "#2 in 1s: B|up 1|INFO retries ended|done 2 in 4s: returned|B|4 tokens",
	},
	"refused by the predicate": {
		turns: []turn{{err: errA}, {err: errB}},
		opts:  []retry.Option{retry.If(func(err error) bool { return err != errB })},
		want:  oneRetry + "#2 in 1s: B|up 1|INFO retries ended|done 2 in 4s: returned|B|4 tokens",
	},
	"without retries": {
		turns: []turn{{err: errA}},
		opts:  []retry.Option{retry.Limit(0)},
		want:  "#1 in 1s: A|ERROR giving up|gave up: limit of 0 retries, last A, 1 in 0s, row 0 in 0s|done 1 in 1s: returned|limit of 0 retries, last A, 1 in 0s, row 0 in 0s|5 tokens",
	},
	"a signal in a wait": {
		turns: []turn{{err: errA}, {err: errA}, {err: errB}},
		opts:  []retry.Option{retry.Limit(1)},
		fire:  2 * time.Second,
		want:  oneRetry + "#2 in 1s: A|DEBUG retrying after a failure|retry 1: A|#3 in 1s: B|ERROR giving up|gave up: limit of 1 retry, last B, 3 in 5s, row 1 in 3s|up 1|done 3 in 6s: returned|limit of 1 retry, last B, 3 in 5s, row 1 in 3s|3 tokens",
	},
	"cancelled in a wait": {
		turns:  []turn{{err: errA}, {err: errB}},
		cancel: 5 * time.Second,
		want:   oneRetry + "#2 in 1s: B|DEBUG retrying after a failure|retry 2: B|up 1|INFO retries ended|done 2 in 5s: returned|shut down, last B, 2 in 4s, row 1 in 4s|3 tokens",
		other: map[string]string{
			"RetryWhen": oneRetry + "#2 in 1s: B|DEBUG retrying after a failure|retry 2: B|up 1|INFO retries ended|done 2 in 5s: returned|shut down: after the failure: B|3 tokens",
			"MapRetry":  oneRetry + "#2 in 1s: B|DEBUG retrying after a failure|retry 2: B|up 1|INFO retries ended|done 2 in 5s: shut down, last B, 2 in 4s, row 1 in 4s|shut down|3 tokens",
		},
	},
	"cancelled in an attempt": {
		turns:  []turn{{err: errA}, {err: errors.New("reading"), hangs: true}},
		cancel: 10 * time.Second,
		want:   oneRetry + "#2 in 7s: reading: context canceled|up 1|INFO retries ended|done 2 in 10s: returned|shut down, last A, 2 in 9s, row 1 in 9s|4 tokens",
		other: map[string]string{
			"RetryWhen": oneRetry + "#2 in 7s: reading: context canceled|up 1|INFO retries ended|done 2 in 10s: returned|shut down: after the failure: reading: context canceled: after the failure: A|4 tokens",
			"MapRetry":  oneRetry + "#2 in 7s: reading: context canceled|up 1|INFO retries ended|done 2 in 10s: shut down, last A, 2 in 9s, row 1 in 9s|shut down|4 tokens",
		},
	},
	"cancelled in an attempt that fails of its own": {
		turns:  []turn{{err: errA}, {err: errB}},
		cancel: 3500 * time.Millisecond,
		want:   oneRetry + "#2 in 1s: B|up 1|INFO retries ended|done 2 in 4s: returned|shut down, last B, 2 in 3s, row 1 in 3s|4 tokens",
		other: map[string]string{
			"RetryWhen": oneRetry + "#2 in 1s: B|up 1|INFO retries ended|done 2 in 4s: returned|shut down: after the failure: B: after the failure: A|4 tokens",
			"MapRetry":  oneRetry + "#2 in 1s: B|up 1|INFO retries ended|done 2 in 4s: shut down, last B, 2 in 3s, row 1 in 3s|shut down|4 tokens",
		},
	},
	"cancelled in the first attempt": {
		turns:  []turn{{err: errors.New("reading"), hangs: true}},
		cancel: 2 * time.Second,
		want:   "#1 in 2s: reading: context canceled|done 1 in 2s: returned|shut down, last reading: context canceled, 1 in 0s, row 0 in 0s|5 tokens",
		hidden: "shut down: after the failure: reading: context canceled|5 tokens",
		other: map[string]string{
			"RetryWhen": "#1 in 2s: reading: context canceled|done 1 in 2s: returned|shut down: after the failure: reading: context canceled|5 tokens",
			"MapRetry":  "#1 in 2s: reading: context canceled|done 1 in 2s: shut down, last reading: context canceled, 1 in 0s, row 0 in 0s|shut down|5 tokens",
		},
	},
	"cancelled after a signal": { // which restarted the count; then one more failure
		turns:  []turn{{err: errA}, {err: errA}, {err: errB}},
		fire:   5 * time.Second,
		cancel: 7 * time.Second,
		want:   oneRetry + "#2 in 1s: A|DEBUG retrying after a failure|retry 2: A|#3 in 1s: B|DEBUG retrying after a failure|retry 1: B|up 1|INFO retries ended|done 3 in 7s: returned|shut down, last B, 3 in 6s, row 0 in 1s|2 tokens",
		other: map[string]string{
			"RetryWhen": oneRetry + "#2 in 1s: A|DEBUG retrying after a failure|retry 2: A|#3 in 1s: B|DEBUG retrying after a failure|retry 1: B|up 1|INFO retries ended|done 3 in 7s: returned|shut down: after the failure: B|2 tokens",
			"MapRetry":  oneRetry + "#2 in 1s: A|DEBUG retrying after a failure|retry 2: A|#3 in 1s: B|DEBUG retrying after a failure|retry 1: B|up 1|INFO retries ended|done 3 in 7s: shut down, last B, 3 in 6s, row 0 in 1s|shut down|2 tokens",
		},
	},
	"a timeout of the attempt is a failure": {
		turns: []turn{{err: errA, hangs: true}, {}},
		opts:  []retry.Option{retry.AttemptTimeout(4 * time.Second)},
		want:  "#1 in 4s: A: context deadline exceeded|down 1: A: context deadline exceeded|WARN retrying after a failure|retry 1: A: context deadline exceeded|#2 in 1s: nil|up 1|INFO recovered|recovered by 1 after 3s: A: context deadline exceeded|done 2 in 7s: nil|nil|5 tokens",
		other: map[string]string{
			"Attempts":  "", // the loop makes no contexts
			"RetryWhen": "", // a stream has Timeout
			"retryhttp": "#1 in 4s: retryhttp: attempt 1: no response in time: context deadline exceeded|down 1: retryhttp: attempt 1: no response in time: context deadline exceeded|WARN retrying after a failure|retry 1: retryhttp: attempt 1: no response in time: context deadline exceeded|#2 in 1s: nil|up 1|INFO recovered|recovered by 1 after 3s: retryhttp: attempt 1: no response in time: context deadline exceeded|done 2 in 7s: nil|nil|5 tokens",
		},
	},
	"works, fails, and is cancelled in a wait": {
		turns:  []turn{{err: errA}, {err: errB, works: true}},
		cancel: 5 * time.Second,
		want:   oneRetry + "up 1|INFO recovered|recovered by 1 after 3s: A|#2 in 1s: B|down 2: B|WARN retrying after a failure|retry 2: B|up 2|INFO retries ended|done 2 in 5s: returned|shut down: after the failure: B|4 tokens",
		other: map[string]string{
			"Run":       "",
			"Attempts":  oneRetry + "up 1|INFO recovered|recovered by 1 after 3s: A|#2 in 1s: B|down 2: B|WARN retrying after a failure|retry 1: B|up 2|INFO retries ended|done 2 in 5s: returned|shut down, last B, 2 in 4s, row 0 in 1s|4 tokens",
			"MapRetry":  "",
			"retryhttp": "",
		},
	},
	"works, and is cancelled in that attempt": {
		turns:  []turn{{err: errA}, {err: errors.New("reading"), works: true, hangs: true}},
		cancel: 10 * time.Second,
		want:   oneRetry + "up 1|INFO recovered|recovered by 1 after 3s: A|#2 in 7s: reading: context canceled|done 2 in 10s: returned|shut down: after the failure: reading: context canceled|5 tokens",
		other: map[string]string{
			"Run":       "",
			"Attempts":  oneRetry + "up 1|INFO recovered|recovered by 1 after 3s: A|#2 in 7s: reading: context canceled|done 2 in 10s: returned|shut down, last reading: context canceled, 2 in 9s, row 0 in 0s|5 tokens",
			"MapRetry":  "",
			"retryhttp": "",
		},
	},
}

// The options of every story, which note the calls of its hooks.
func storyHooks(notes *[]string) []retry.Option {
	note := func(format string, args ...any) { *notes = append(*notes, fmt.Sprintf(format, args...)) }
	outages := 0
	return []retry.Option{
		retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) { note("#%d in %v: %s", a.N, a.Lasted, storyError(a.Err)) }),
		retry.OnOutage(func(_ context.Context, err error) func() {
			outages++
			this := outages
			note("down %d: %v", this, err)
			return func() { note("up %d", this) }
		}),
		retry.Log(slog.New(storyLog{note: note})),
		retry.OnRetry(func(_ context.Context, e retry.Event) { note("retry %d: %v", e.N, e.Err) }),
		retry.OnGiveUp(func(_ context.Context, e *retry.Error) { note("gave up: %s", storyError(e)) }),
		retry.OnRecovered(func(_ context.Context, r retry.Recovery) {
			note("recovered by %d after %v: %v", r.Retries, r.Down, r.Last)
		}),
		retry.OnDone(func(_ context.Context, r retry.Result) {
			note("done %d in %v: %s", r.Attempts, r.Elapsed, storyError(r.Err))
		}),
	}
}

// storyLog notes the level and the text of each line.
type storyLog struct {
	slog.Handler
	note func(string, ...any)
}

func (storyLog) Enabled(context.Context, slog.Level) bool { return true }

func (l storyLog) Handle(_ context.Context, r slog.Record) error {
	l.note("%v %s", r.Level, r.Message)
	return nil
}

func storyError(err error) string {
	if e, ok := err.(*retry.Error); ok {
		return fmt.Sprintf("%v, last %v, %d in %v, row %d in %v", e.Cause, e.Last, e.Attempts, e.Elapsed, e.Retries, e.Down)
	}
	return strings.ReplaceAll(fmt.Sprint(err), "<nil>", "nil")
}

func TestStories(t *testing.T) {
	for name, s := range stories {
		for driver, run := range storyDrivers {
			want := s.want
			kind, handler, _ := strings.Cut(driver, "/")
			if other, is := s.other[kind]; is {
				want = other
			}
			if s.hidden != "" && handler != "" && handler != "a pointer" && !strings.HasPrefix(handler, "Around") {
				want = s.hidden
			}
			if driver == "MapRetry" {
				want = quiet(want)
			}
			if want == "" {
				continue
			}
			bubble(t, name+"/"+driver, func(t *testing.T) {
				if got := s.tell(t.Context(), run); got != want {
					t.Errorf("got\n\t%s\nwant\n\t%s", strings.ReplaceAll(got, "|", "\n\t"), strings.ReplaceAll(want, "|", "\n\t"))
				}
			})
		}
	}
}

// quiet returns what MapRetry reports: no outages, and a log at DEBUG.
func quiet(notes string) string {
	outage, level := regexp.MustCompile(`(down|up) \d[^|]*\|`), regexp.MustCompile(`\b(INFO|WARN|ERROR) `)
	return level.ReplaceAllString(outage.ReplaceAllString(notes, ""), "DEBUG ")
}

// tell runs the story and returns what the driver reports.
func (s *story) tell(ctx context.Context, run func(context.Context, retry.Policy, *play) error) string {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	if s.cancel > 0 {
		defer time.AfterFunc(s.cancel, func() { cancel(errCause) }).Stop()
	}
	signal := retry.NewSignal()
	if s.fire > 0 {
		defer time.AfterFunc(s.fire, signal.Fire).Stop()
	}
	budget := retry.NewBudget(10, 1, 1)
	budget.Add(-5)
	var notes []string
	p := every(2*time.Second, retry.WithBudget(budget), retry.ResetOn(signal)).
		With(storyHooks(&notes)...).With(s.opts...)
	err := storyError(run(ctx, p, &play{turns: s.turns}))
	for i, note := range notes {
		if before, ok := strings.CutSuffix(note, ": "+err); ok && err != "nil" && strings.HasPrefix(note, "done") {
			notes[i] = before + ": returned"
		}
	}
	return strings.Join(slices.Concat(notes, []string{err, fmt.Sprintf("%v tokens", budget.Tokens())}), "|")
}

package retry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// A story is what one operation goes through. Every driver of a policy reports it alike, except where the story says
// so.
type story struct {
	turns  []turn
	opts   []retry.Option
	cancel time.Duration // when the operation's context ends, 0: never
	fire   time.Duration // when the policy's signal fires, 0: never
	not    string        // the kinds of drivers that do not have the story
	want   string
	hidden string // if the handler hides the policy, and no failure reaches it
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

// oneRetry is how a story begins whose first attempt fails with A.
const oneRetry = `
			attempt   1  1s   A
			down      1       A
			WARN              retrying after a failure
			retry     1       A`

// stories are the rules of docs/semantics.md, "What each driver reports". Delays are 2 s. The budget has 5 tokens of
// 10 at the start; a retry costs 1 and a success refunds 1.
//
// A line is a call of a hook or a line of the log: what it is, the number of it, how long it took, and the error or the
// text. The last two lines are the error that the driver returns, and the tokens that are left; "returned" stands for
// that error. A line that ends with [kinds] holds for these kinds of drivers, or for all but [not kinds]. MapRetry
// reports no outages, down and up, and logs at DEBUG.
var stories = map[string]story{
	"works at once": {
		turns: []turn{{}},
		want: `
			attempt   1  1s   nil
			done      1  1s   nil
			returns           nil
			tokens    6`,
		hidden: `
			returns           nil
			tokens    5`,
	},
	"fails once and works": {
		turns: []turn{{err: errA}, {}},
		want: oneRetry + `
			attempt   2  1s   nil
			up        1
			INFO              recovered
			recovered 1  3s   A
			done      2  4s   nil
			returns           nil
			tokens    5`,
	},
	"gives up": {
		turns: []turn{{err: errA}, {err: errA}, {err: errB}},
		opts:  []retry.Option{retry.Limit(2)},
		want: oneRetry + `
			attempt   2  1s   A
			DEBUG             retrying after a failure
			retry     2       A
			attempt   3  1s   B
			ERROR             giving up
			gave up           limit of 2 retries, last B, 3 in 6s, row 2 in 6s
			up        1
			done      3  7s   returned
			returns           limit of 2 retries, last B, 3 in 6s, row 2 in 6s
			tokens    3`,
	},
	"permanent": {
		turns: []turn{{err: errA}, {err: retry.Permanent(errB)}},
		want: oneRetry + `
			attempt   2  1s   B
			up        1
			INFO              retries ended
			done      2  4s   returned
			returns           B
			tokens    4`,
	},
	"refused by the predicate": {
		turns: []turn{{err: errA}, {err: errB}},
		opts:  []retry.Option{retry.If(func(err error) bool { return err != errB })},
		want: oneRetry + `
			attempt   2  1s   B
			up        1
			INFO              retries ended
			done      2  4s   returned
			returns           B
			tokens    4`,
	},
	"without retries": {
		turns: []turn{{err: errA}},
		opts:  []retry.Option{retry.Limit(0)},
		want: `
			attempt   1  1s   A
			ERROR             giving up
			gave up           limit of 0 retries, last A, 1 in 0s, row 0 in 0s
			done      1  1s   returned
			returns           limit of 0 retries, last A, 1 in 0s, row 0 in 0s
			tokens    5`,
	},
	"a signal in a wait": {
		turns: []turn{{err: errA}, {err: errA}, {err: errB}},
		opts:  []retry.Option{retry.Limit(1)},
		fire:  2 * time.Second,
		want: oneRetry + `
			attempt   2  1s   A
			DEBUG             retrying after a failure
			retry     1       A
			attempt   3  1s   B
			ERROR             giving up
			gave up           limit of 1 retry, last B, 3 in 5s, row 1 in 3s
			up        1
			done      3  6s   returned
			returns           limit of 1 retry, last B, 3 in 5s, row 1 in 3s
			tokens    3`,
	},
	"cancelled in a wait": {
		turns:  []turn{{err: errA}, {err: errB}},
		cancel: 5 * time.Second,
		want: oneRetry + `
			attempt   2  1s   B
			DEBUG             retrying after a failure
			retry     2       B
			up        1
			INFO              retries ended
			done      2  5s   returned                                  [not MapRetry]
			done      2  5s   shut down, last B, 2 in 4s, row 1 in 4s   [MapRetry]
			returns           shut down, last B, 2 in 4s, row 1 in 4s   [not RetryWhen MapRetry]
			returns           shut down: after the failure: B           [RetryWhen]
			returns           shut down                                 [MapRetry]
			tokens    3`,
	},
	"cancelled in an attempt": {
		turns:  []turn{{err: errA}, {err: errors.New("reading"), hangs: true}},
		cancel: 10 * time.Second,
		want: oneRetry + `
			attempt   2  7s   reading: context canceled
			up        1
			INFO              retries ended
			done      2  10s  returned                                  [not MapRetry]
			done      2  10s  shut down, last A, 2 in 9s, row 1 in 9s   [MapRetry]
			returns           shut down, last A, 2 in 9s, row 1 in 9s   [not RetryWhen MapRetry]
			returns           shut down: after the failure: reading: context canceled: after the failure: A  [RetryWhen]
			returns           shut down                                 [MapRetry]
			tokens    4`,
	},
	"cancelled in an attempt that fails of its own": {
		turns:  []turn{{err: errA}, {err: errB}},
		cancel: 3500 * time.Millisecond,
		want: oneRetry + `
			attempt   2  1s   B
			up        1
			INFO              retries ended
			done      2  4s   returned                                  [not MapRetry]
			done      2  4s   shut down, last B, 2 in 3s, row 1 in 3s   [MapRetry]
			returns           shut down, last B, 2 in 3s, row 1 in 3s   [not RetryWhen MapRetry]
			returns           shut down: after the failure: B: after the failure: A  [RetryWhen]
			returns           shut down                                 [MapRetry]
			tokens    4`,
	},
	"cancelled in the first attempt": {
		turns:  []turn{{err: errors.New("reading"), hangs: true}},
		cancel: 2 * time.Second,
		want: `
			attempt   1  2s   reading: context canceled
			done      1  2s   returned                                  [not MapRetry]
			done      1  2s   shut down, last reading: context canceled, 1 in 0s, row 0 in 0s  [MapRetry]
			returns           shut down, last reading: context canceled, 1 in 0s, row 0 in 0s  [not RetryWhen MapRetry]
			returns           shut down: after the failure: reading: context canceled  [RetryWhen]
			returns           shut down                                 [MapRetry]
			tokens    5`,
		hidden: `
			returns           shut down: after the failure: reading: context canceled
			tokens    5`,
	},
	"cancelled after a signal": { // which restarted the count; then one more failure
		turns:  []turn{{err: errA}, {err: errA}, {err: errB}},
		fire:   5 * time.Second,
		cancel: 7 * time.Second,
		want: oneRetry + `
			attempt   2  1s   A
			DEBUG             retrying after a failure
			retry     2       A
			attempt   3  1s   B
			DEBUG             retrying after a failure
			retry     1       B
			up        1
			INFO              retries ended
			done      3  7s   returned                                  [not MapRetry]
			done      3  7s   shut down, last B, 3 in 6s, row 0 in 1s   [MapRetry]
			returns           shut down, last B, 3 in 6s, row 0 in 1s   [not RetryWhen MapRetry]
			returns           shut down: after the failure: B           [RetryWhen]
			returns           shut down                                 [MapRetry]
			tokens    2`,
	},
	"a timeout of the attempt is a failure": {
		turns: []turn{{err: errA, hangs: true}, {}},
		opts:  []retry.Option{retry.AttemptTimeout(4 * time.Second)},
		not:   "Attempts RetryWhen", // the loop makes no contexts, and a stream has Timeout
		want: `
			attempt   1  4s   A: context deadline exceeded              [not retryhttp]
			attempt   1  4s   retryhttp: attempt 1: no response in time: context deadline exceeded  [retryhttp]
			down      1       A: context deadline exceeded              [not retryhttp]
			down      1       retryhttp: attempt 1: no response in time: context deadline exceeded  [retryhttp]
			WARN              retrying after a failure
			retry     1       A: context deadline exceeded              [not retryhttp]
			retry     1       retryhttp: attempt 1: no response in time: context deadline exceeded  [retryhttp]
			attempt   2  1s   nil
			up        1
			INFO              recovered
			recovered 1  3s   A: context deadline exceeded              [not retryhttp]
			recovered 1  3s   retryhttp: attempt 1: no response in time: context deadline exceeded  [retryhttp]
			done      2  7s   nil
			returns           nil
			tokens    5`,
	},
	"works, fails, and is cancelled in a wait": {
		turns:  []turn{{err: errA}, {err: errB, works: true}},
		cancel: 5 * time.Second,
		not:    "Run MapRetry retryhttp",
		want: oneRetry + `
			up        1
			INFO              recovered
			recovered 1  3s   A
			attempt   2  1s   B
			down      2       B
			WARN              retrying after a failure
			retry     1       B                                         [Attempts]
			retry     2       B                                         [RetryWhen]
			up        2
			INFO              retries ended
			done      2  5s   returned
			returns           shut down, last B, 2 in 4s, row 0 in 1s   [Attempts]
			returns           shut down: after the failure: B           [RetryWhen]
			tokens    4`,
	},
	"works, and is cancelled in that attempt": {
		turns:  []turn{{err: errA}, {err: errors.New("reading"), works: true, hangs: true}},
		cancel: 10 * time.Second,
		not:    "Run MapRetry retryhttp",
		want: oneRetry + `
			up        1
			INFO              recovered
			recovered 1  3s   A
			attempt   2  7s   reading: context canceled
			done      2  10s  returned
			returns           shut down, last reading: context canceled, 2 in 9s, row 0 in 0s  [Attempts]
			returns           shut down: after the failure: reading: context canceled  [RetryWhen]
			tokens    5`,
	},
}

// The options of every story, which note the calls of its hooks.
func storyHooks(notes *[]string) []retry.Option {
	note := func(format string, args ...any) { *notes = append(*notes, fmt.Sprintf(format, args...)) }
	outages := 0
	return []retry.Option{
		retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) {
			note("attempt %d %v %s", a.N, a.Lasted, storyError(a.Err))
		}),
		retry.OnOutage(func(_ context.Context, err error) func() {
			outages++
			this := outages
			note("down %d %v", this, err)
			return func() { note("up %d", this) }
		}),
		retry.Log(slog.New(storyLog{note: note})),
		retry.OnRetry(func(_ context.Context, e retry.Event) { note("retry %d %v", e.N, e.Err) }),
		retry.OnGiveUp(func(_ context.Context, e *retry.Error) { note("gave up %s", storyError(e)) }),
		retry.OnRecovered(func(_ context.Context, r retry.Recovery) {
			note("recovered %d %v %v", r.Retries, r.Down, r.Last)
		}),
		retry.OnDone(func(_ context.Context, r retry.Result) {
			note("done %d %v %s", r.Attempts, r.Elapsed, storyError(r.Err))
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
			kind, handler, _ := strings.Cut(driver, "/")
			if strings.Contains(s.not, kind) {
				continue
			}
			want := told(s.want, kind)
			if s.hidden != "" && handler != "" && handler != "a pointer" && !strings.HasPrefix(handler, "Around") {
				want = told(s.hidden, kind)
			}
			bubble(t, name+"/"+driver, func(t *testing.T) {
				if got := s.tell(t.Context(), run); !slices.Equal(got, want) {
					t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
				}
			})
		}
	}
}

// told returns the lines of a story that hold for a kind of drivers, with one space between two words.
func told(story, kind string) (lines []string) {
	for line := range strings.Lines(strings.TrimSpace(story)) {
		line, kinds, some := strings.Cut(line, "  [")
		if kinds, not := strings.CutPrefix(kinds, "not "); some && strings.Contains(kinds, kind) == not {
			continue
		}
		words := strings.Fields(line)
		switch event := words[0]; {
		case kind != "MapRetry":
		case event == "down" || event == "up":
			continue
		case event == strings.ToUpper(event):
			words[0] = "DEBUG"
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// tell runs the story and returns what the driver reports.
func (s *story) tell(ctx context.Context, run func(context.Context, retry.Policy, *play) error) []string {
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
		if before, ok := strings.CutSuffix(note, " "+err); ok && err != "nil" && strings.HasPrefix(note, "done") {
			notes[i] = before + " returned"
		}
	}
	return append(notes, "returns "+err, fmt.Sprintf("tokens %v", budget.Tokens()))
}

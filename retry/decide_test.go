package retry_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func TestDecide_NumbersAreDrawnOnlyIfNeeded(t *testing.T) {
	for name, c := range map[string]struct {
		b    backoff.Backoff
		want int
	}{
		"none":          {backoff.Backoff{}, 0},
		"constant":      {backoff.Constant(time.Second), 0},
		"keyed, tiled":  {backoff.Linear(time.Second).Tiled().Keyed(1), 0},
		"keyed, jitter": {backoff.Linear(time.Second).Jitter(jitter.Full).Keyed(1), 0},
		"tiled":         {backoff.Linear(time.Second).Tiled(), 1},
		"jitter":        {backoff.Linear(time.Second).Jitter(jitter.Full), 3},
		"sidekiq":       {backoff.Sidekiq(), 3},
	} {
		drawn := 0
		p := retry.New(c.b, retry.WithRand(func() float64 { drawn++; return 0.5 }))
		var s retry.State
		for range 3 {
			_, _ = decide(p, &s, stream.Failure{Err: errBoom}, time.Unix(0, 0), time.Time{})
		}
		if drawn != c.want {
			t.Errorf("%s: %d numbers for three retries, want %d", name, drawn, c.want)
		}
	}
}

func TestDecide_TiledDrawsByItself(t *testing.T) {
	p := retry.New(backoff.Linear(time.Hour).Tiled())
	places := map[string]bool{}
	placeOf := func(s retry.State) string {
		text, _ := s.MarshalText()
		_, place, _ := strings.Cut(string(text), " place=")
		return place
	}
	for range 3 {
		var s retry.State
		first, _ := decide(p, &s, stream.Failure{Err: errBoom}, time.Unix(0, 0), time.Time{})
		place := placeOf(s)
		second, _ := decide(p, &s, stream.Failure{Err: errBoom}, time.Unix(0, 0), time.Time{})
		if place == "" || placeOf(s) != place || second-first < time.Hour/2 {
			t.Errorf("delays of %v and %v at %v", first, second, placeOf(s))
		}
		places[place] = true
	}
	if len(places) != 3 {
		t.Errorf("three operations have the places %v", places)
	}
}

// Two policies made of one do not share what is appended.
func TestWith_SiblingsShareNothing(t *testing.T) {
	for name, option := range map[string]func(f func()) retry.Option{
		"OnRetry":     func(f func()) retry.Option { return retry.OnRetry(func(context.Context, retry.Event) { f() }) },
		"OnGiveUp":    func(f func()) retry.Option { return retry.OnGiveUp(func(context.Context, *retry.Error) { f() }) },
		"OnRecovered": func(f func()) retry.Option { return retry.OnRecovered(func(context.Context, retry.Recovery) { f() }) },
		"OnDone":      func(f func()) retry.Option { return retry.OnDone(func(context.Context, retry.Result) { f() }) },
	} {
		p := every(0, retry.Limit(1))
		for range 3 {
			p = p.With(option(func() {}))
		}
		var first, second int
		a := p.With(option(func() { first++ }))
		_ = p.With(option(func() { second++ }))
		_ = retry.Run(t.Context(), a, failNow(1))
		_ = retry.Run(t.Context(), a, failNow(9))
		if first == 0 || second != 0 {
			t.Errorf("%s: the own hook was called %d times, the sibling's %d", name, first, second)
		}
	}
	p := every(time.Hour)
	for range 3 {
		p = p.With(retry.ResetOn(retry.NewSignal()))
	}
	own, others := retry.NewSignal(), retry.NewSignal()
	a := attempt.EngineOf(p.With(retry.ResetOn(own)))
	_ = p.With(retry.ResetOn(others))
	before := a.Fires()
	others.Fire()
	if own.Fire(); a.Fires() != before+1 {
		t.Errorf("ResetOn: %d fires, want one more than %d", a.Fires(), before)
	}
}

// What is joined later does not change what was joined.
func TestJoinOptions_KeepsItsOwnList(t *testing.T) {
	opts := []retry.Option{retry.Limit(1)}
	joined := retry.JoinOptions(opts...)
	opts[0] = retry.Limit(2)
	if n, _ := every(0, joined).Limit(); n != 1 {
		t.Errorf("the limit is %d, want 1", n)
	}
}

// If's function is called once for each failure that is not permanent, BackoffFor's once for each delay.
func TestDecide_FunctionsAreCalledOnce(t *testing.T) {
	for name, c := range map[string]struct {
		err            error
		asked, matched int
	}{
		"retried twice": {errBoom, 3, 2}, "refused": {errA, 1, 0}, "permanent": {retry.Permanent(errBoom), 0, 0}, "dictated": {retry.RetryAfter(errBoom, 1), 3, 2},
	} {
		asked, matched := 0, 0
		p := every(0, retry.Limit(2), retry.If(func(err error) bool { asked++; return err != errA }),
			retry.BackoffFor(func(error) bool { matched++; return false }, backoff.Backoff{}))
		if _ = retry.Run(t.Context(), p, func(context.Context) error { return c.err }); asked != c.asked || matched != c.matched {
			t.Errorf("%s: If's function is called %d times, BackoffFor's %d times; want %d and %d", name, asked, matched, c.asked, c.matched)
		}
	}
}

func failNow(n int) func(context.Context) error {
	return func(context.Context) error {
		if n--; n >= 0 {
			return errBoom
		}
		return nil
	}
}

// Without a clock of the policy's own an attempt lasts as long as RetryWhen says, whatever stands behind Handle.
func TestHandle_ADelayBehindItIsNoAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := every(0, retry.Limit(2), retry.ResetAfter(5*time.Second))
		slow := stream.RetryHandlerFunc(func(f stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
			return p.Handle(f).Delay(10 * time.Second)
		})
		runs := 0
		err := stream.FromFunc(func(context.Context) (int, error) { runs++; return 0, errBoom }).Take(1).RetryWhen(slow).ForEach(t.Context(), func(int) {})
		if !errors.Is(err, retry.ErrLimit) || runs != 3 {
			t.Errorf("%d runs, %v", runs, err)
		}
	})
}

func TestAttempts_ResetAfterAndRefund(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := retry.NewBudget(10, 1, 0.5)
		p := every(time.Second, retry.Limit(2), retry.ResetAfter(time.Minute), retry.WithBudget(budget))
		turns := 0
		for a, err := range p.Attempts(t.Context()) {
			if err != nil {
				break
			}
			if turns++; turns == 3 {
				time.Sleep(time.Minute)
			}
			a.Fail(errBoom)
		}
		if turns != 5 || budget.Tokens() != 6 {
			t.Errorf("%d turns, %v", turns, budget)
		}
		for range every(0, retry.WithBudget(budget)).Attempts(t.Context()) { // without an Operation
		}
		if budget.Tokens() != 6.5 {
			t.Errorf("no refund: %v", budget)
		}
		if granted, refused := budget.Stats(); granted != 4 || refused != 0 {
			t.Errorf("granted %d, refused %d", granted, refused)
		}
	})
}

func TestBudget_RefillIsARate(t *testing.T) {
	budget := retry.NewBudget(10, 1, 0).Refill(2)
	budget.Add(-8)
	p := every(0, retry.WithBudget(budget))
	decide := func(at time.Time) error {
		_, err := decide(p, new(retry.State), stream.Failure{Err: errBoom}, at, time.Time{})
		return err
	}
	now := time.Unix(1000, 0)
	if err := decide(now); err != nil || budget.Tokens() != 1 {
		t.Errorf("%v, %v", err, budget)
	}
	if err := decide(now.Add(3 * time.Second)); err != nil || budget.Tokens() != 6 {
		t.Errorf("%v, %v; want 1 + 2·3 - 1", err, budget)
	}
	if err := decide(now); err != nil || budget.Tokens() != 5 {
		t.Errorf("%v, %v; a clock that is behind gives nothing", err, budget)
	}
	if got, want := budget.Refill(3).String(), "budget 5 of 10, cost 1, refund 0, 3 a second"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := decide(now.Add(time.Hour)); err != nil || budget.Tokens() != 4 {
		t.Errorf("%v, %v; a new rate flows from the next retry on", err, budget)
	}
}

func TestError_Text(t *testing.T) {
	cause, last := retry.ErrDeadline, errBoom
	for want, e := range map[string]*retry.Error{
		"retry: the wait would pass the context's deadline: 1 failure in 0s: boom":                {Cause: cause, Last: last, Attempts: 1},
		"retry: the wait would pass the context's deadline: 2 failures in 1s":                     {Cause: cause, Attempts: 2, Retries: 1, Down: time.Second},
		"retry: retry budget spent: 4 failures in 12s: boom (1003 attempts in 749h)":              {Cause: retry.ErrBudget, Last: last, Attempts: 1003, Elapsed: 749 * time.Hour, Retries: 3, Down: 12 * time.Second},
		"retry: the wait would pass the context's deadline: no attempt was made":                  {Cause: cause},
		"retry: limit of retries: 2 failures in 1m: boom (3 attempts in 1h)":                      {Cause: retry.ErrLimit, Last: last, Attempts: 3, Retries: 1, Down: time.Minute, Elapsed: time.Hour},
		"retry: time limit of the retries: 1 failure in 0s: boom (2 attempts in 1ms)":             {Cause: retry.ErrWithin, Last: last, Attempts: 2, Elapsed: time.Millisecond},
		"retry: delay limit: 1 failure in 0s: boom":                                               {Cause: retry.ErrStopAt, Last: last, Attempts: 1},
		"retry: limit of retries: 2 failures in 1.235ms: boom (3 attempts in 15.377s)":            {Cause: retry.ErrLimit, Last: last, Attempts: 3, Retries: 1, Down: 1234567, Elapsed: 15_377_342_636},
		"retry: limit of retries: 2 failures in 12.345µs: boom":                                   {Cause: retry.ErrLimit, Last: last, Attempts: 2, Retries: 1, Down: 12345},
		"retry: limit of dictated delays: 1 failure in 0s: boom":                                  {Cause: retry.ErrMaxRetryAfter, Last: last, Attempts: 1},
		"retry: the wait would pass the context's deadline: 1 failure in 0s: inner: 1, or others": {Cause: cause, Last: errors.New("inner: 1, or others"), Attempts: 1},
	} {
		if e.Error() != want {
			t.Errorf("got %q, want %q", e.Error(), want)
		}
	}
}

func TestError_SaysWhichLimit(t *testing.T) {
	for _, c := range []struct {
		option retry.Option
		which  error
		text   string
	}{
		{retry.Limit(0), retry.ErrLimit, "limit of 0 retries"},
		{retry.Limit(1), retry.ErrLimit, "limit of 1 retry"},
		{retry.Within(90 * time.Second), retry.ErrWithin, "time limit of 1m30s"},
		{retry.StopAt(2 * time.Hour), retry.ErrStopAt, "delay limit of 2h, the next wait would be 3h"},
		{retry.MaxRetryAfter(10 * time.Minute), retry.ErrMaxRetryAfter, "limit of dictated delays of 10m, the next wait would be 1h"},
	} {
		p := retry.New(backoff.Constant(time.Hour).Plus(2*time.Hour), c.option)
		var s retry.State
		var err error
		for n := 0; err == nil; n++ {
			failure := errBoom
			if c.which == retry.ErrMaxRetryAfter {
				failure = retry.RetryAfter(errBoom, time.Hour)
			}
			var d time.Duration
			if d, err = decide(p, &s, stream.Failure{Err: failure}, time.Unix(0, 0), time.Time{}); err != nil && d != 0 {
				t.Errorf("%v, and a delay of %v", err, d)
			}
		}
		e, ok := errors.AsType[*retry.Error](err)
		if !ok || e.Cause.Error() != c.text || !errors.Is(err, c.which) || !errors.Is(err, retry.ErrExhausted) {
			t.Errorf("got %v, want %q", err, c.text)
		}
		for _, other := range []error{retry.ErrLimit, retry.ErrWithin, retry.ErrStopAt, retry.ErrMaxRetryAfter, retry.ErrBudget, retry.ErrDeadline, retry.ErrWithoutRetries} {
			if other != c.which && errors.Is(err, other) {
				t.Errorf("%v is %v too", err, other)
			}
		}
	}
}

func TestState_Text(t *testing.T) {
	for text, want := range map[string]string{
		"":            "attempts=0",
		"attempts=0":  "attempts=0",
		"previous=0s": "attempts=0",
		"attempts=1 first=2026-03-01T11:00:00.000000005Z":                                                                 "",
		"attempts=1 first=2026-03-01T12:00:00.000000005+01:00":                                                            "attempts=1 first=2026-03-01T11:00:00.000000005Z",
		"attempts=17 first=2026-03-01T11:00:00Z retries=12 since=2026-03-01T11:00:01Z previous=1.5s place=0.25":           "",
		"attempts=2 first=2026-03-01T11:00:00Z retries=1 since=2026-03-01T11:00:00Z place=0":                              "",
		"attempts=2 first=2026-03-01T11:00:00Z retries=1 since=2026-03-01T11:00:00Z place=0.1234567890123456":             "",
		"attempts=9 first=2026-03-01T11:00:00Z began=2026-03-01T10:00:00Z failures=3 down=2026-03-01T11:30:00Z":           "",
		"attempts=9 first=2026-03-01T11:00:00Z failures=0":                                                                "",
		"retries=1 attempts=2 since=2026-03-01T11:00:01Z failures=2 first=2026-03-01T11:00:00Z down=2026-03-01T11:00:00Z": "attempts=2 first=2026-03-01T11:00:00Z retries=1 since=2026-03-01T11:00:01Z",
		"attempts=2 first=2026-03-01T11:00:00Z retries=1":                                                                 "attempts=2 first=2026-03-01T11:00:00Z retries=1 since=2026-03-01T11:00:00Z",
	} {
		var s retry.State
		if err := s.UnmarshalText([]byte(text)); err != nil {
			t.Error(err)
		}
		if want == "" {
			want = text
		}
		if got, err := s.MarshalText(); string(got) != want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", text, got, err, want)
		}
	}
	var was retry.State
	check.Must(t, was.UnmarshalText([]byte("attempts=3")))
	for bad, want := range map[string]string{
		"place=x": "a number of at least 0 and below 1", "previous=x": "a duration of 0 or more",
		"retries=x": "a whole number of 0 or more", "first=x": "a time like 2026-03-01T12:00:00Z",
	} {
		if err := new(retry.State).UnmarshalText([]byte(bad)); err == nil || err.Error() != fmt.Sprintf("retry: State: %q: want %s", bad, want) {
			t.Errorf("%s: got %v, want %q", bad, err, want)
		}
	}
	for _, bad := range []string{"attempts", "attempts=-1", "attempts=x", "retries=1.5", "first=yesterday", "since=", "previous=-1s", "previous=1", "place=x", "place=1", "place=-0.1", "place=NaN", "u=0.5", "Attempts=1"} {
		s := was
		err := s.UnmarshalText([]byte("planned=0 " + bad))
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("retry: State: %q: want ", bad)) || s != was {
			t.Errorf("%s: %v, %+v", bad, err, s)
		}
	}
	for twice, want := range map[string]string{
		"attempts=1 attempts=1":                           `a second attempts, "attempts=1"`,
		"attempts=1 previous=1s first=x":                  `"first=x"`,
		"attempts=2 retries=1 place=0.5 retries=2":        `a second retries, "retries=2"`,
		"attempts=1 since=2026-03-01T12:00:00Z since=now": `a second since, "since=now"`,
	} {
		s := was
		if err := s.UnmarshalText([]byte(twice)); err == nil || !strings.HasPrefix(err.Error(), "retry: State: "+want) || s != was {
			t.Errorf("%s: %v, %+v", twice, err, s)
		}
	}
	for _, far := range []string{
		"attempts=1 first=9999-12-31T23:00:00-02:00",
		"attempts=1 first=9999-12-31T22:00:00Z retries=1 since=9999-12-31T23:00:00-02:00",
		"attempts=1 first=2026-03-01T11:00:00Z retries=1 since=9999-12-31T23:00:00-02:00",
	} {
		var s retry.State
		check.Must(t, s.UnmarshalText([]byte(far)))
		if _, err := s.MarshalText(); strings.Contains(far, "2026") != (err == nil) || err != nil && !strings.HasPrefix(err.Error(), "retry: State: ") {
			t.Errorf("a year past 9999: %v", err) // since is at most 292 years after first
		}
	}
}

// A state that was stored goes on as if it had not been.
func TestState_GoesOnFromItsText(t *testing.T) {
	for _, b := range []backoff.Backoff{
		backoff.Linear(time.Second).Tiled(), backoff.Decorrelated(time.Second), backoff.Exponential(time.Second, 2),
	} {
		p := retry.New(b, retry.WithRand(func() float64 { return 0.25 }), retry.Limit(5), retry.Within(time.Hour))
		var kept, stored retry.State
		now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 6 {
			text, _ := stored.MarshalText()
			stored = retry.State{}
			check.Must(t, stored.UnmarshalText(text))
			d, err := decide(p, &kept, stream.Failure{Err: errBoom}, now, time.Time{})
			e, end := decide(p, &stored, stream.Failure{Err: errBoom}, now, time.Time{})
			if d != e || fmt.Sprint(err) != fmt.Sprint(end) {
				t.Errorf("%v: %v, %v; stored %v, %v", b, d, err, e, end)
			}
			now = now.Add(d)
		}
	}
}

// A State from text has seen every fire of a signal up to its first decision.
func TestState_FromTextHasSeenEveryFire(t *testing.T) {
	signal := retry.NewSignal()
	signal.Fire()
	p := every(0, retry.Limit(3), retry.ResetOn(signal))
	var s retry.State
	decide := func() error {
		_, err := decide(p, &s, stream.Failure{Err: errBoom}, time.Unix(0, 0), time.Time{})
		return err
	}
	store := func() {
		text, err := s.MarshalText()
		check.Must(t, err)
		s = retry.State{}
		check.Must(t, s.UnmarshalText(text))
	}
	for range 3 {
		check.Must(t, decide())
		signal.Fire() // unseen, but before the first decision of the State that is read next
		store()
	}
	if err := decide(); !errors.Is(err, retry.ErrLimit) {
		t.Errorf("the fourth failure: %v, want the limit", err)
	}
	signal.Fire()
	if err := decide(); err != nil {
		t.Errorf("after a later fire: %v", err)
	}
	if text, _ := s.MarshalText(); !strings.Contains(string(text), "attempts=5 ") || !strings.Contains(string(text), " retries=1 ") {
		t.Errorf("%s, want 1 retry of 5 attempts", text)
	}
}

func TestPolicy_TextForm(t *testing.T) {
	told := 0
	p := every(time.Hour, retry.Limit(9), retry.Within(time.Hour), retry.OnRetry(func(context.Context, retry.Event) { told++ }))
	const text = "linear d=0s limit=2 stopat=10m maxretryafter=10h attempttimeout=1h10m resetafter=1m resetafteritems=3"
	check.Must(t, p.UnmarshalText([]byte(text)))
	got, err := p.AppendText([]byte("policy: "))
	if want := "policy: linear d=0s limit=2 stopat=10m attempttimeout=1h10m resetafter=1m resetafteritems=3 maxretryafter=10h"; string(got) != want || err != nil {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, set := p.Within(); set {
		t.Error("Within is still set")
	}
	_ = retry.Run(t.Context(), p, failNow(9))
	if told != 2 {
		t.Errorf("the hook was called %d times, want 2", told)
	}
	was := p.String()
	if err := p.UnmarshalText([]byte("linear d=1s limit=-1")); err == nil || p.String() != was {
		t.Errorf("got %v and %v", err, p)
	}
	odd := retry.New(backoff.Func(func(int, float64) time.Duration { return 0 }))
	if got, err := odd.AppendText([]byte("x")); err == nil || string(got) != "x" {
		t.Errorf("a Func: %q, %v", got, err)
	}
	var none retry.Policy
	if err := none.UnmarshalText([]byte("constant d=1s")); err != nil || none.String() != "constant d=1s" {
		t.Errorf("got %v, %v", none, err)
	}
}

func TestPolicy_Accessors(t *testing.T) {
	type got struct {
		d   time.Duration
		set bool
	}
	read := func(p retry.Policy) []got {
		n, limited := p.Limit()
		all := []got{{time.Duration(n), limited}}
		for _, f := range []func() (time.Duration, bool){p.Within, p.StopAt, p.AttemptTimeout} {
			d, set := f()
			all = append(all, got{d, set})
		}
		return all
	}
	if all := read(every(0)); slices.ContainsFunc(all, func(g got) bool { return g != got{} }) {
		t.Errorf("without options: %v", all)
	}
	p := every(0, retry.Limit(0), retry.Within(0), retry.StopAt(3), retry.AttemptTimeout(4))
	if all := read(p); !slices.Equal(all, []got{{0, true}, {0, true}, {3, true}, {4, true}}) {
		t.Errorf("got %v", all)
	}
}

func TestParse_NoEmptyHint(t *testing.T) {
	_, err := retry.Parse("constant d=1s qqqqqqqq=1")
	if err == nil || strings.Contains(err.Error(), "did you mean ?") {
		t.Errorf("got %v", err)
	}
}

// A fleet with one deadline and the same dictated delay is spread over half of what is left, at no point closer than
// evenly.
func TestADictatedDelayIsSpreadBeforeADeadline(t *testing.T) {
	now := time.Unix(0, 0)
	for _, j := range []jitter.Jitter{jitter.Default, jitter.Full, jitter.Equal} {
		for _, bound := range []string{"deadline", "Within"} {
			var last time.Duration
			for i := range 201 {
				p := retry.New(backoff.Constant(time.Second).Jitter(j), retry.WithRand(func() float64 { return float64(i) / 201 }))
				var deadline time.Time
				if bound == "deadline" {
					deadline = now.Add(12 * time.Second)
				} else {
					p = p.With(retry.Within(12 * time.Second))
				}
				d, err := decide(p, new(retry.State), stream.Failure{Err: retry.RetryAfter(errBoom, 10*time.Second)}, now, deadline)
				if err != nil || d < 10*time.Second || d > 11*time.Second || i > 0 && d-last < 4*time.Millisecond {
					t.Errorf("%v, %s: %d: %v after %v, %v", j, bound, i, d, last, err)
				}
				last = d
			}
			if last < 10900*time.Millisecond {
				t.Errorf("%v, %s: the last at %v", j, bound, last)
			}
		}
	}
}

func TestWithin_DoesNotBoundTheAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		err := retry.Run(t.Context(), every(time.Second, retry.Within(10*time.Second), retry.AttemptTimeout(30*time.Second)),
			func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })
		if took := time.Since(began); took != 61*time.Second || !errors.Is(err, retry.ErrWithin) {
			t.Errorf("%v after %v", err, took)
		}
	})
}

func TestError_Timeout(t *testing.T) {
	for name, c := range map[string]struct {
		err  *retry.Error
		want bool
	}{
		"the deadline":       {&retry.Error{Cause: retry.ErrDeadline, Last: errBoom}, true},
		"the context's":      {&retry.Error{Cause: context.DeadlineExceeded}, true},
		"a stream's timeout": {&retry.Error{Cause: retry.ErrLimit, Last: stream.ErrTimeout}, true},
		"a limit":            {&retry.Error{Cause: retry.ErrLimit, Last: errBoom}, false},
		"cancelled":          {&retry.Error{Cause: context.Canceled, Last: errBoom}, false},
		"empty":              {&retry.Error{}, false},
	} {
		if c.err.Timeout() != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
	// A cause of the caller's own does not hide that it was a deadline.
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errors.New("too late"))
		defer cancel()
		err := retry.Run(ctx, every(0), func(ctx context.Context) error { <-ctx.Done(); return errBoom })
		if e, ok := errors.AsType[*retry.Error](err); !ok || !e.Timeout() || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, context.Cause(ctx)) {
			t.Errorf("got %v", err)
		}
	})
}

// What a policy decides after failures that are all the same, a nanosecond apart.
func TestDecide(t *testing.T) {
	reset := []retry.Option{retry.Limit(1), retry.ResetAfter(time.Minute), retry.ResetAfterItems(3)}
	for name, c := range map[string]struct {
		options  []retry.Option
		failure  stream.Failure
		deadline time.Duration // since the first failure
		want     []time.Duration
		end      error // after those
	}{
		"StopAt(0) is no retry":           {options: []retry.Option{retry.StopAt(0)}, end: retry.ErrStopAt},
		"MaxRetryAfter(0)":                {options: []retry.Option{retry.MaxRetryAfter(0)}, failure: stream.Failure{Err: retry.RetryAfter(errBoom, 1)}, end: retry.ErrMaxRetryAfter},
		"a retry without a delay is late": {options: []retry.Option{retry.Within(0)}, want: []time.Duration{0}, end: retry.ErrWithin},
		"it may come at the deadline":     {options: []retry.Option{retry.Within(time.Hour)}, deadline: 2, want: []time.Duration{0, 0, 0}},
		"an error may dictate by its As":  {failure: stream.Failure{Err: dictating{errBoom}}, want: []time.Duration{time.Minute}},
		"or by its method":                {failure: stream.Failure{Err: fmt.Errorf("calling: %w", asker{time.Minute})}, want: []time.Duration{time.Minute}},
		"reset by the time":               {options: reset, failure: stream.Failure{Lasted: time.Minute}, want: []time.Duration{0, 0, 0}},
		"reset by the values":             {options: reset, failure: stream.Failure{Items: 3}, want: []time.Duration{0, 0, 0}},
		"too little of both":              {options: reset, failure: stream.Failure{Lasted: time.Minute - 1, Items: 2}, want: []time.Duration{0}, end: retry.ErrLimit},
	} {
		var s retry.State
		p, now := every(0, c.options...), time.Unix(0, 0)
		var deadline time.Time
		if c.deadline > 0 {
			deadline = now.Add(c.deadline)
		}
		if c.failure.Err == nil {
			c.failure.Err = errBoom
		}
		for n, want := range c.want {
			if d, err := decide(p, &s, c.failure, now, deadline); d != want || err != nil {
				t.Errorf("%s: after failure %d: %v, %v, want %v", name, n+1, d, err, want)
			}
			now = now.Add(1)
		}
		if c.end != nil {
			if _, err := decide(p, &s, c.failure, now, deadline); !errors.Is(err, c.end) {
				t.Errorf("%s: got %v, want %v", name, err, c.end)
			}
		}
	}
}

// dictating says what it dictates by its As alone.
type dictating struct{ error }

func (dictating) As(target any) bool {
	t, ok := target.(*interface {
		error
		RetryAfter() time.Duration
	})
	if ok {
		*t = retry.RetryAfter(errBoom, time.Minute).(interface {
			error
			RetryAfter() time.Duration
		})
	}
	return ok
}

func TestHandle_FailsAsTheFailuresDo(t *testing.T) {
	if err := every(0).Handle(stream.Fail[stream.Failure](errBoom)).ForEach(t.Context(), func(stream.Failure) {}); err != errBoom {
		t.Errorf("got %v", err)
	}
}

// Under a clock of its own a policy measures from its answer, and has the first attempt's time from RetryWhen.
func TestHandle_TimesAttemptsOnItsOwnClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lasted []time.Duration
		p := every(time.Second, retry.Limit(2), retry.WithClock(&countingClock{}), retry.OnRetry(func(_ context.Context, e retry.Event) { lasted = append(lasted, e.Lasted) }))
		_ = stream.FromFunc(func(context.Context) (int, error) { time.Sleep(time.Minute); return 0, errBoom }).RetryWhen(p).ForEach(t.Context(), func(int) {})
		if !slices.Equal(lasted, []time.Duration{time.Minute, time.Minute}) {
			t.Errorf("got %v", lasted)
		}
	})
}

// A policy's answer is the failure that it answers.
func TestHandle_AnswersByNumber(t *testing.T) {
	failures := stream.Of(stream.Failure{Err: errBoom, N: 7}, stream.Failure{Err: errBoom, N: 9})
	got, err := every(0).Handle(failures).Collect(t.Context())
	if want := []stream.Failure{{Err: errBoom, N: 7}, {Err: errBoom, N: 9}}; !slices.Equal(got, want) || err != nil {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
}

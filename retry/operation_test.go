package retry_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// decide decides about a failure of an operation that is nothing but its State. deadline is the context's, zero for
// none.
func decide(p retry.Policy, s *retry.State, f stream.Failure, at, deadline time.Time) (time.Duration, error) {
	ctx := context.Background()
	if !deadline.IsZero() {
		ctx = deadlineContext{ctx, deadline}
	}
	op := p.Continue(ctx, *s, nil)
	delay, end := op.Failed(retry.Outcome{Err: f.Err, Items: f.Items, Lasted: f.Lasted, At: at})
	*s = op.State()
	return delay, end
}

// deadlineContext has a deadline, and does not end.
type deadlineContext struct {
	context.Context
	at time.Time
}

func (c deadlineContext) Deadline() (time.Time, bool) { return c.at, true }

// An operation that is stored as text after each failure calls the same hooks as one that is kept.
func TestOperation_StoredBetweenTheAttempts(t *testing.T) {
	for name, stored := range map[string]bool{"kept": false, "stored": true} {
		bubble(t, name, func(t *testing.T) {
			var j journal
			ctx := named(t.Context())
			p := retry.New(backoff.Linear(time.Second)).With(j.options()...)
			op := p.Start(ctx)
			fail := func(err error, works bool) {
				attempt, cancel := op.Attempt(ctx)
				time.Sleep(time.Second)
				if works {
					op.Works()
					time.Sleep(time.Hour)
				}
				if cancel(); attempt.Err() != nil {
					t.Error("there is no timeout")
				}
				delay, end := op.Failed(retry.Outcome{Err: err})
				if end != nil {
					t.Fatal(end)
				}
				if stored {
					text, _ := op.State().MarshalText()
					var s retry.State
					check.Must(t, s.UnmarshalText(text))
					op = p.Continue(ctx, s, err)
				}
				check.Must(t, op.Wait(delay))
			}
			fail(errA, false)
			fail(errA, false)
			fail(errB, true)
			fail(errA, false)
			_, cancel := op.Attempt(ctx)
			cancel()
			_ = op.Done(retry.Outcome{})
			j.want(t,
				"retry 1 in 1s, down 0s, lasted 1s: A",
				"retry 2 in 2s, down 2s, lasted 1s: A",
				"recovered by 2 after 5s: A",
				"retry 3 in 3s, down 1h0m5s, lasted 1h0m1s: B",
				"retry 4 in 4s, down 1h0m9s, lasted 1s: A",
				"recovered by 2 after 8s: A",
				"done 5/4 in 1h0m14s: <nil>")
		})
	}
}

func TestOperation_Attempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		base := context.WithValue(t.Context(), key{}, "base") // an attempt's context need not be the operation's
		op := every(0).Start(t.Context())
		if ctx, cancel := op.Attempt(base); ctx != base {
			t.Error("the first attempt of a policy without AttemptTimeout has another context")
		} else {
			cancel()
		}
		_, _ = op.Failed(retry.Outcome{Err: errBoom})
		if ctx := op.Begin(base); stream.AttemptFrom(ctx) != 2 || ctx.Value(key{}) != "base" {
			t.Errorf("the second one has the number %d", stream.AttemptFrom(ctx))
		}
		op.Reset()
		_, _ = op.Failed(retry.Outcome{Err: errBoom})
		if n := stream.AttemptFrom(op.Begin(base)); n != 3 {
			t.Errorf("after a reset the third one has the number %d", n)
		}
		op = every(0, retry.AttemptTimeout(time.Second)).Start(t.Context())
		ctx, cancel := op.Attempt(base)
		if at, ok := ctx.Deadline(); !ok || time.Until(at) != time.Second {
			t.Errorf("the deadline is %v", at)
		}
		if cancel(); ctx.Err() != context.Canceled {
			t.Errorf("after the call: %v", ctx.Err())
		}
		if op.Begin(base) != base {
			t.Error("Begin has a timeout")
		}
	})
}

// The values of a failed attempt refund the budget, as those of a stream do.
func TestOperation_ItemsRefundTheBudget(t *testing.T) {
	b := retry.NewBudget(10, 1, 0.5)
	b.Add(-8)
	op := every(0, retry.WithBudget(b)).Start(t.Context())
	if _, err := op.Failed(retry.Outcome{Err: errBoom, Items: 4}); err != nil || b.Tokens() != 2+2-1 {
		t.Errorf("got %v, and %v tokens, want 3", err, b.Tokens())
	}
}

func TestOperation_Refused(t *testing.T) {
	var told []string
	p := every(0, retry.If(func(err error) bool { return err != errA }), retry.OnGiveUp(func(_ context.Context, e *retry.Error) { told = append(told, e.Error()) }))
	for err, want := range map[error]error{errB: retry.ErrRefused, errA: errA} {
		op := p.Start(t.Context())
		if got := op.Refused(retry.Outcome{Err: err}); !errors.Is(got, want) || !errors.Is(got, err) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	op := p.Start(t.Context())
	_, _ = op.Failed(retry.Outcome{Err: errB})
	if e := attempt.EndError(&op, retry.ErrBudget).(*retry.Error); e.Cause != retry.ErrBudget || e.Last != errB || e.Attempts != 1 {
		t.Errorf("the end is %v", e) // without a call of OnGiveUp
	}
	if len(told) != 1 || told[0] != "retry: not retryable: 1 failure in 0s: B" {
		t.Errorf("OnGiveUp was called with %q", told)
	}
	ctx, cancel := context.WithCancel(t.Context())
	op = p.Start(ctx)
	cancel()
	if got := op.Refused(retry.Outcome{Err: errB}); !errors.Is(got, context.Canceled) {
		t.Errorf("once cancelled: %v", got)
	}
}

// An engine may make the Operation when the first attempt is over.
func TestOperation_MadeAfterTheFirstAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var elapsed []time.Duration
		p := every(time.Minute, retry.OnDone(func(_ context.Context, r retry.Result) { elapsed = append(elapsed, r.Elapsed) }))
		op := p.Start(t.Context())
		_ = op.Done(retry.Outcome{Lasted: time.Hour})
		op = p.Start(t.Context())
		_, _ = op.Failed(retry.Outcome{Err: errBoom, Lasted: time.Hour})
		op = p.Continue(t.Context(), op.State(), errBoom)
		time.Sleep(time.Minute)
		_ = op.Done(retry.Outcome{Lasted: time.Second})
		if len(elapsed) != 2 || elapsed[0] != time.Hour || elapsed[1] != time.Hour+time.Minute {
			t.Errorf("got %v, want 1h and 1h1m", elapsed)
		}
	})
}

func TestEngine_Notify(t *testing.T) {
	s := retry.NewSignal()
	engine := attempt.EngineOf(every(0, retry.ResetOn(s)))
	fired := make(chan struct{}, 1)
	engine.Notify(fired)
	s.Fire()
	s.Fire() // is left out: there is room for one
	<-fired
	engine.Stop(fired)
	s.Fire()
	select {
	case <-fired:
		t.Error("a fire after Stop")
	default:
	}
	if s.Fires() != 3 {
		t.Errorf("%d fires, want 3", s.Fires())
	}
}

func TestQuiet(t *testing.T) {
	var b bytes.Buffer
	p := every(0, retry.Limit(1), logTo(&b))
	_ = retry.Run(t.Context(), p.With(retry.Quiet()), failNow(9))
	_ = retry.Run(t.Context(), p.With(retry.Quiet()), failNow(1))
	if text := b.String(); strings.Count(text, "level=DEBUG") != 4 || strings.Count(text, "\n") != 4 {
		t.Errorf("got\n%s", text)
	}
	b.Reset()
	if _ = retry.Run(t.Context(), p, failNow(1)); !strings.Contains(b.String(), "level=WARN") {
		t.Errorf("the policy itself is quiet:\n%s", &b)
	}
}

// The order of Quiet and OnOutage does not matter.
func TestQuiet_NoOutage(t *testing.T) {
	hook := retry.OnOutage(func(context.Context, error) func() { t.Error("OnOutage was called"); return nil })
	for _, p := range []retry.Policy{every(0, retry.Quiet(), hook), every(0, hook, retry.Quiet()), every(0, retry.Quiet()).With(hook)} {
		_ = retry.Run(t.Context(), p, failNow(1))
		if !plain(p) {
			t.Error("a quiet policy with OnOutage is not plain")
		}
	}
}

func plain(p retry.Policy) bool { return attempt.EngineOf(p).Plain }

func TestPlain(t *testing.T) {
	hook := func(context.Context, error) func() { return nil }
	for name, o := range map[string]retry.Option{
		"AttemptTimeout": retry.AttemptTimeout(1), "ResetAfter": retry.ResetAfter(1), "Log": retry.Log(nil), "OnOutage": retry.OnOutage(hook),
		"OnRetry": retry.OnRetry(func(context.Context, retry.Event) {}), "OnRecovered": retry.OnRecovered(func(context.Context, retry.Recovery) {}),
		"OnDone": retry.OnDone(func(context.Context, retry.Result) {}), "OnWorks": retry.OnWorks(func(context.Context, int) {}), "OnAttempt": retry.OnAttempt(func(context.Context, retry.AttemptEnd) {}),
		"WithBudget": retry.WithBudget(retry.NewBudget(1, 1, 0)),
	} {
		if plain(every(0, o)) {
			t.Errorf("a policy with %s is plain", name)
		}
	}
	decides := every(0, retry.Limit(1), retry.Within(1), retry.StopAt(1), retry.MaxRetryAfter(1), retry.ResetAfterItems(1), retry.BeforeFirstItem(),
		retry.If(func(error) bool { return true }), retry.ResetOn(retry.NewSignal()), retry.OnGiveUp(func(context.Context, *retry.Error) {}))
	if !plain(decides) || !plain(retry.Policy{}) {
		t.Error("a policy that only decides is not plain")
	}
}

// Whatever is called first on a zero Operation panics with a sentence.
func TestTheZeroOperationPanics(t *testing.T) {
	const want = "retry: Operation: the zero Operation, want one that Policy.Start or Policy.Continue returns"
	for _, f := range []func(o *retry.Operation){
		func(o *retry.Operation) { o.Attempt(t.Context()) },
		func(o *retry.Operation) { o.Begin(t.Context()) },
		func(o *retry.Operation) { o.Works() },
		func(o *retry.Operation) { o.Reset() },
		func(o *retry.Operation) { _, _ = o.Failed(retry.Outcome{Err: errBoom}) },
		func(o *retry.Operation) { _ = o.Refused(retry.Outcome{Err: errBoom}) },
		func(o *retry.Operation) { _ = o.Wait(0) },
		func(o *retry.Operation) { _ = o.Wait(time.Second) },
		func(o *retry.Operation) { _ = o.Cancelled() },
		func(o *retry.Operation) { _ = o.Done(retry.Outcome{}) },
		func(o *retry.Operation) { _ = o.Done(retry.Outcome{Err: errBoom}) },
	} {
		check.Panics(t, want, func() { f(new(retry.Operation)) })
	}
}

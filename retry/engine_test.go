package retry_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/engine"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func engineOf(p retry.Policy) engine.Policy[retry.State] { return engine.Of[retry.State](p) }

func TestEngine_FiresCountsAllSignals(t *testing.T) {
	a, b := retry.NewSignal(), retry.NewSignal()
	p := engineOf(every(0, retry.ResetOn(a), retry.ResetOn(b)))
	a.Fire()
	a.Fire()
	b.Fire()
	if got := p.Fires(); got != 4 || engineOf(every(0)).Fires() != 0 {
		t.Errorf("got %d, want 4; without signals %d, want 0", got, engineOf(every(0)).Fires())
	}
}

func TestEngine_Watch(t *testing.T) {
	fired := make(chan struct{}, 1)
	if stop, ok := engineOf(every(0)).Watch(fired); ok || stop == nil {
		t.Error("a policy without signals has nothing to watch")
	}
	s := retry.NewSignal()
	stop, ok := engineOf(every(0, retry.ResetOn(s))).Watch(fired)
	if !ok {
		t.Fatal("a policy with a signal has nothing to watch")
	}
	s.Fire()
	s.Fire() // is left out: there is room for one
	<-fired
	stop()
	s.Fire()
	select {
	case <-fired:
		t.Error("a fire after stop")
	default:
	}
}

func TestEngine_AttemptContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, done := engineOf(every(0)).AttemptContext(t.Context())
		done()
		if ctx != t.Context() {
			t.Error("without AttemptTimeout the context is another one")
		}
		ctx, done = engineOf(every(0, retry.AttemptTimeout(time.Second))).AttemptContext(t.Context())
		if at, ok := ctx.Deadline(); !ok || time.Until(at) != time.Second {
			t.Errorf("the deadline is %v", at)
		}
		done()
		if ctx.Err() != context.Canceled {
			t.Errorf("after the call: %v", ctx.Err())
		}
	})
}

func TestEngine_DecideGivesHooksTheContext(t *testing.T) {
	var j journal
	p := engineOf(every(time.Second, retry.Limit(1)).With(j.options()...))
	ctx := named(t.Context())
	var s retry.State
	now := time.Unix(0, 0)
	_, _ = p.Decide(ctx, &s, stream.Failure{Err: errBoom, Lasted: time.Minute}, now, time.Time{})
	_, err := p.Decide(ctx, &s, stream.Failure{Err: errBoom}, now.Add(time.Second), time.Time{})
	p.Recovered(ctx, errBoom, 1, time.Second)
	p.Done(ctx, 3, time.Hour, nil)
	j.want(t,
		"retry 1 in 1s, down 0s, lasted 1m0s: boom",
		"gave up: "+err.Error(),
		"recovered by 1 after 1s: boom",
		"done 3/2 in 1h0m0s: <nil>")
	if _, err := p.Decide(retry.WithoutRetries(ctx), new(retry.State), stream.Failure{Err: errBoom}, now, time.Time{}); !errors.Is(err, retry.ErrLimit) {
		t.Errorf("without retries: %v", err)
	}
}

func TestEngine_Observes(t *testing.T) {
	for name, c := range map[string]struct {
		option retry.Option
		want   bool
	}{
		"nothing":     {retry.Limit(1), false},
		"OnRetry":     {retry.OnRetry(func(context.Context, retry.Event) {}), false},
		"OnRecovered": {retry.OnRecovered(func(context.Context, retry.Recovery) {}), true},
		"OnDone":      {retry.OnDone(func(context.Context, retry.Result) {}), true},
	} {
		if got := engineOf(every(0, c.option)).Observes(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestEngine_QuietLogsAtDebug(t *testing.T) {
	var b bytes.Buffer
	p := every(0, retry.Limit(1), logTo(&b))
	quiet := engineOf(p).Quiet()
	var s retry.State
	for range 2 {
		_, _ = quiet.Decide(t.Context(), &s, stream.Failure{Err: errBoom}, time.Unix(0, 0), time.Time{})
	}
	quiet.Recovered(t.Context(), errBoom, 1, 0)
	if text := b.String(); strings.Count(text, "level=DEBUG") != 3 || strings.Count(text, "\n") != 3 {
		t.Errorf("got\n%s", text)
	}
	b.Reset()
	if _ = retry.Run(t.Context(), p, failNow(1)); !strings.Contains(b.String(), "level=WARN") {
		t.Errorf("the policy itself is quiet:\n%s", &b)
	}
}

func TestEngine_TimesAttempts(t *testing.T) {
	if engineOf(every(0)).TimesAttempts() || !engineOf(every(0, retry.ResetAfter(1))).TimesAttempts() {
		t.Error("attempts are to be timed under ResetAfter only")
	}
}

package streamtest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	checks "github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// attempts runs a stream that fails, under the policy and on the clock, and sends the mock's time of each attempt.
func attempts(ctx context.Context, c *Clock, p retry.Policy) <-chan time.Duration {
	at := make(chan time.Duration)
	start := c.Now()
	src := stream.FromFunc(func(context.Context) (int, error) {
		at <- c.Now().Sub(start)
		return 0, errBoom
	})
	go func() {
		defer close(at)
		_, _ = src.RetryWhen(p).Collect(stream.WithClock(ctx, c))
	}()
	return at
}

func TestClock_AdvanceToNext(t *testing.T) {
	c := NewClock()
	p := retry.New(backoff.Quadratic(time.Second), retry.Limit(3))
	at := attempts(t.Context(), c, p)
	if d := <-at; d != 0 {
		t.Errorf("the first attempt came at %v", d)
	}
	for n, want := range []time.Duration{1, 5, 14} {
		w, err := c.AdvanceToNext(t.Context())
		checks.Must(t, err)
		if delay := time.Duration(n+1) * time.Duration(n+1) * time.Second; w.Delay != delay || w.Operator != "retry.Policy.Handle" {
			t.Errorf("retry %d waited for %v", n+1, w)
		}
		if d := <-at; d != want*time.Second {
			t.Errorf("retry %d came at %v, want %ds", n+1, d, want)
		}
	}
	if d, open := <-at; open {
		t.Errorf("an attempt too many at %v", d)
	}
}

// A timeout is armed with each retry: the test names the wait that it means, and is exact.
func TestClock_AdvanceTheWaitThatIsMeant(t *testing.T) {
	c := NewClock()
	src := stream.Fail[int](errBoom).Timeout(time.Minute).RetryWhen(retry.New(backoff.Constant(time.Second), retry.Limit(3)))
	done := make(chan error)
	go func() { done <- src.ForEach(stream.WithClock(t.Context(), c), func(int) {}) }()
	for range 3 {
		w := armedBy(t, c, "retry.Policy.Handle")
		if w.Delay != time.Second {
			t.Errorf("waits for %v", w)
		}
		c.Advance(w)
	}
	if err := <-done; !errors.Is(err, errBoom) {
		t.Error(err)
	}
	if d := c.Now().Sub(time.Unix(0, 0)); d != 3*time.Second {
		t.Errorf("%v have passed, want 3s", d)
	}
}

func armedBy(t *testing.T, c *Clock, operator string) *Wait {
	t.Helper()
	for {
		w, err := c.Armed(t.Context())
		checks.Must(t, err)
		if w.Operator == operator {
			return w
		}
	}
}

// A wait has the name of what a user calls, whatever the types and functions that carry it out are called.
func TestClock_Operators(t *testing.T) {
	type ticks = stream.Stream[time.Time]
	p := retry.New(backoff.Constant(time.Second), retry.Limit(1))
	fail := func(context.Context, int) (time.Time, error) { return time.Time{}, errBoom }
	same := func(answers stream.Stream[stream.Failure]) stream.Stream[stream.Failure] { return answers }
	for want, sources := range map[string][]ticks{
		"stream.Timer":          {stream.Timer(time.Second)},
		"stream.Interval":       {stream.Interval(time.Second)},
		"stream.Timeout":        {stream.Never[time.Time]().Timeout(time.Second)},
		"stream.Delay":          {stream.Of(time.Time{}).Delay(time.Second)},
		"stream.Debounce":       {stream.Of(time.Time{}).Concat(stream.Never[time.Time]()).Debounce(time.Second)},
		"stream.ThrottleLatest": {stream.Of(time.Time{}).Concat(stream.Never[time.Time]()).ThrottleLatest(time.Second)},
		"stream.TimeShift":      {stream.Of(time.Time{}).Concat(stream.Never[time.Time]()).TimeShift(time.Second, 2)},
		"operators.Batch": {operators.Map(operators.Batch(stream.Of(time.Time{}).Concat(stream.Never[time.Time]()), 2, time.Second),
			func(v []time.Time) time.Time { return v[0] })},
		"operators.Window": {operators.Window(stream.Never[time.Time](), 2, time.Second, func(w ticks) ticks { return w })},
		"retry.Policy.Handle": {
			stream.Fail[time.Time](errBoom).RetryWhen(p),
			stream.Fail[time.Time](errBoom).RetryWhen(p.Around(same)),
			stream.Fail[time.Time](errBoom).RetryWhen(stream.RetryHandlerFunc(p.Handle)),
		},
		"operators.MapRetry": {operators.MapRetry(stream.Of(1), p, fail, operators.MapRetryOptions[int]{})},
	} {
		for i, src := range sources {
			t.Run(fmt.Sprint(want, i), func(t *testing.T) {
				c := NewClock()
				ctx, cancel := context.WithCancel(t.Context())
				done := make(chan struct{})
				go func() {
					defer close(done)
					_, _ = src.Collect(stream.WithClock(ctx, c))
				}()
				w, err := c.Armed(t.Context())
				if err != nil || w.Operator != want || w.Delay != time.Second || !strings.Contains(w.String(), "1s armed by "+want) {
					t.Errorf("%v, %v, want 1s by %s", w, err, want)
				}
				cancel()
				<-done
				if w.Stop() {
					t.Error("it was not stopped")
				}
			})
		}
	}
}

func TestClock_ArmedPassesOverWhatIsOver(t *testing.T) {
	c := NewClock()
	fired := make(chan int, 3)
	c.AfterFunc(time.Second, func() { fired <- 1 }).Stop()
	c.AfterFunc(2*time.Second, func() { fired <- 2 })
	c.AfterFunc(time.Hour, func() { fired <- 3 })
	c.Mock.Add(2 * time.Second)
	<-fired
	w, err := c.AdvanceToNext(t.Context())
	if err != nil || w.Delay != time.Hour || !strings.HasPrefix(w.Operator, "streamtest.TestClock_ArmedPassesOver") {
		t.Errorf("got %v, %v, want the hour", w, err)
	}
	if n := <-fired; n != 3 {
		t.Errorf("fired %d", n)
	}
	if w.Stop() {
		t.Error("Stop of what has fired is true")
	}
	c.Advance(w) // it is past
	if d := c.Now().Sub(time.Unix(0, 0)); d != time.Hour {
		t.Error(d)
	}
}

func TestClock_ArmedHeedsItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errBoom)
	if _, err := NewClock().AdvanceToNext(ctx); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "nothing was armed") {
		t.Error(err)
	}
}

func TestClock_NoWaitForNothing(t *testing.T) {
	c := NewClock()
	done := make(chan bool)
	w := c.AfterFunc(0, func() { done <- true })
	<-done
	if w.Stop() {
		t.Error("Stop of what has fired is true")
	}
	c.AfterFunc(-time.Second, func() { done <- true })
	<-done
	checks.Panics(t, "streamtest: Clock.AfterFunc: f is nil", func() { c.AfterFunc(0, nil) })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if w, err := c.Armed(ctx); err == nil {
		t.Errorf("got %v", w)
	}
}

// The mock can tick a timer twice, when another is made while Add runs.
func TestClock_FiresOnce(t *testing.T) {
	c := NewClock()
	n := 0
	w := c.AfterFunc(time.Second, func() { n++ }).(*Wait)
	w.fire()
	w.fire()
	if n != 1 {
		t.Errorf("called %d times", n)
	}
}

// The flow that the facts in docs/testing.md were measured on: a retry loop with a timeout for each attempt, and slow
// attempts. Answering armed events by their own delays is never wrong, whatever the scheduler does.
func TestClock_IsExactUnderLoad(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	for range runtime.GOMAXPROCS(0) {
		go func() {
			for {
				select {
				case <-stop:
					return
				default:
					runtime.Gosched()
				}
			}
		}()
	}
	for range 5 {
		c := NewClock()
		start := c.Now()
		var at []time.Duration
		slow := stream.FromFunc(func(ctx context.Context) (int, error) {
			at = append(at, c.Now().Sub(start))
			_, err := stream.Timer(10 * time.Millisecond).Collect(ctx)
			return 0, errors.Join(err, errBoom)
		})
		src := slow.Timeout(time.Second).RetryWhen(retry.New(backoff.Constant(100*time.Millisecond), retry.Limit(2)))
		done := make(chan error)
		go func() { done <- src.ForEach(stream.WithClock(t.Context(), c), func(int) {}) }()
		for _, operator := range []string{"stream.Timer", "retry.Policy.Handle", "stream.Timer", "retry.Policy.Handle", "stream.Timer"} {
			c.Advance(armedBy(t, c, operator))
		}
		if err := <-done; !errors.Is(err, retry.ErrExhausted) {
			t.Fatal(err)
		}
		for i, want := range []time.Duration{0, 110 * time.Millisecond, 220 * time.Millisecond} {
			if len(at) != 3 || at[i] != want {
				t.Fatalf("attempts at %v", at)
			}
		}
	}
}

// Package calls measures the cost of retrying a function with each library, in its own idiom: a call that succeeds at
// once, and a call that fails ten times without delays.
package calls

import (
	"context"
	"errors"
	"testing"
	"time"

	goretry "github.com/avast/retry-go/v5"
	backoff7 "github.com/cenkalti/backoff/v7"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	sethvargo "github.com/sethvargo/go-retry"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

const (
	limit  = 20 // retries
	result = 7
)

var errBoom = errors.New("boom")

// work fails a number of times, then returns the result, and then begins again.
type work struct{ fails, calls int }

func (w *work) do(context.Context) (int, error) {
	if w.calls++; w.calls%(w.fails+1) != 0 {
		return 0, errBoom
	}
	return result, nil
}

// caller is one library's way to call w.do until it succeeds. make is called once, with everything that may be kept
// between calls. The function that it returns makes one call, with the context of that call.
type caller struct {
	name string
	make func(ctx context.Context, w *work, base time.Duration) func(context.Context) (int, error)
}

var callers = []caller{
	{"loop", func(_ context.Context, w *work, base time.Duration) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			for delay, retries := base, 0; ; delay, retries = 2*delay, retries+1 {
				v, err := w.do(ctx)
				if err == nil || retries == limit {
					return v, err
				}
				if delay == 0 {
					if ctx.Err() != nil {
						return 0, ctx.Err()
					}
					continue
				}
				timer := time.NewTimer(delay)
				select {
				case <-timer.C:
				case <-ctx.Done():
					timer.Stop()
					return 0, ctx.Err()
				}
			}
		}
	}},
	{"retrywhen", func(_ context.Context, w *work, base time.Duration) func(context.Context) (int, error) {
		var none backoff.Backoff
		p := retry.New(none, retry.Limit(limit))
		if base > 0 {
			p = retry.New(backoff.Exponential(base, 2).Jitter(jitter.Full), retry.Limit(limit))
		}
		return func(ctx context.Context) (int, error) { return retry.Do(ctx, p, w.do) }
	}},
	{"cenkalti-backoff", func(_ context.Context, w *work, base time.Duration) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			// A BackOff is not safe for concurrent use: each call makes its own.
			var b backoff7.BackOff = &backoff7.ZeroBackOff{}
			if base > 0 {
				b = &backoff7.ExponentialBackOff{InitialInterval: base, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: time.Minute}
			}
			return backoff7.Retry(ctx, func() (int, error) { return w.do(ctx) }, backoff7.WithBackOff(b), backoff7.WithMaxTries(limit+1))
		}
	}},
	{"avast-retry-go", func(ctx context.Context, w *work, base time.Duration) func(context.Context) (int, error) {
		// One Retrier for all calls, as its documentation advises. So all calls have the same context.
		r := goretry.NewWithData[int](avastOptions(ctx, base)...)
		return func(ctx context.Context) (int, error) { return r.Do(func() (int, error) { return w.do(ctx) }) }
	}},
	{"avast-retry-go-own-context", func(_ context.Context, w *work, base time.Duration) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			return goretry.NewWithData[int](avastOptions(ctx, base)...).Do(func() (int, error) { return w.do(ctx) })
		}
	}},
	{"failsafe-go", func(_ context.Context, w *work, base time.Duration) func(context.Context) (int, error) {
		b := retrypolicy.NewBuilder[int]().WithMaxRetries(limit)
		if base > 0 {
			b = b.WithBackoff(base, time.Minute).WithJitterFactor(0.5)
		}
		executor := failsafe.With(b.Build())
		return func(ctx context.Context) (int, error) {
			return executor.WithContext(ctx).Get(func() (int, error) { return w.do(ctx) })
		}
	}},
	{"sethvargo-go-retry", func(_ context.Context, w *work, base time.Duration) func(context.Context) (int, error) {
		return func(ctx context.Context) (int, error) {
			// A Backoff has state, so each call makes its own. NewConstant and NewExponential refuse 0.
			b := sethvargo.Backoff(sethvargo.BackoffFunc(func() (time.Duration, bool) { return 0, false }))
			if base > 0 {
				b = sethvargo.WithJitterPercent(50, sethvargo.NewExponential(base))
			}
			return sethvargo.DoValue(ctx, sethvargo.WithMaxRetries(limit, b), func(ctx context.Context) (int, error) {
				v, err := w.do(ctx)
				return v, sethvargo.RetryableError(err)
			})
		}
	}},
	{"k8s-wait", func(_ context.Context, w *work, base time.Duration) func(context.Context) (int, error) {
		b := wait.Backoff{Duration: base, Factor: 2, Jitter: 0.5, Steps: limit + 1}
		return func(ctx context.Context) (int, error) {
			var v int
			err := wait.ExponentialBackoffWithContext(ctx, b, func(ctx context.Context) (bool, error) {
				var err error
				v, err = w.do(ctx)
				return err == nil, nil
			})
			return v, err
		}
	}},
}

func avastOptions(ctx context.Context, base time.Duration) []goretry.Option {
	o := []goretry.Option{goretry.Context(ctx), goretry.Attempts(limit + 1), goretry.Delay(base)}
	if base == 0 {
		return append(o, goretry.DelayType(goretry.FixedDelay))
	}
	return append(o, goretry.MaxDelay(time.Minute), goretry.DelayType(goretry.FullJitterBackoffDelay))
}

var cases = []struct {
	name  string
	fails int
	base  time.Duration
}{
	{"first-try", 0, time.Second},
	{"ten-failures", 10, 0},
}

func TestEveryCallerGetsTheResult(t *testing.T) {
	for _, c := range cases {
		for _, l := range callers {
			w := &work{fails: c.fails}
			call := l.make(t.Context(), w, c.base)
			for range 2 {
				before := w.calls
				if v, err := call(t.Context()); err != nil || v != result || w.calls-before != c.fails+1 {
					t.Errorf("%s: %s: got %d, %v after %d calls, want %d after %d", c.name, l.name, v, err, w.calls-before, result, c.fails+1)
				}
			}
		}
	}
}

func BenchmarkCall(b *testing.B) {
	for _, c := range cases {
		for _, l := range callers {
			b.Run(c.name+"/"+l.name, func(b *testing.B) {
				b.ReportAllocs()
				w := &work{fails: c.fails}
				call := l.make(b.Context(), w, c.base)
				for b.Loop() {
					if v, err := call(b.Context()); err != nil || v != result {
						b.Fatal(v, err)
					}
				}
			})
		}
	}
}

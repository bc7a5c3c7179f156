package retry_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

var errThrottled = errors.New("throttled")

func is(target error) func(error) bool { return func(err error) bool { return errors.Is(err, target) } }

// The delays of a policy with the failures of one operation.
func TestBackoffFor(t *testing.T) {
	linear, throttled := backoff.Linear(time.Second), backoff.Linear(time.Minute)
	for name, c := range map[string]struct {
		p        retry.Policy
		failures []error
		want     []float64 // in seconds
		end      error
	}{
		"the number of retries is that of the row": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), throttled)),
			[]error{errBoom, errThrottled, errBoom, errThrottled}, []float64{1, 120, 3, 240}, nil,
		},
		"the last one that matches": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), throttled), retry.BackoffFor(is(errBusy), backoff.Constant(0)),
				retry.BackoffFor(is(errThrottled), backoff.Constant(time.Hour))),
			[]error{errThrottled, errBusy, errBoom}, []float64{3600, 0, 3}, nil,
		},
		"StopAt looks at the chosen one": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), throttled), retry.StopAt(time.Minute)),
			[]error{errBoom, errBoom, errThrottled}, []float64{1, 2}, retry.ErrStopAt,
		},
		"and not at the policy's own": {
			retry.New(throttled, retry.BackoffFor(is(errThrottled), linear), retry.StopAt(time.Minute)),
			[]error{errThrottled, errThrottled, errBoom}, []float64{1, 2}, retry.ErrStopAt,
		},
		"it spreads a dictated delay": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), throttled.Jitter(jitter.Deviation(0.5)))),
			[]error{retry.RetryAfter(errBoom, 10*time.Second), retry.RetryAfter(errThrottled, 10*time.Second)}, []float64{10, 11.125}, nil,
		},
		"decorrelated goes on from the delay before": {
			retry.New(linear, retry.BackoffFor(is(errThrottled), backoff.Decorrelated(time.Second))),
			[]error{errBoom, errBoom, errThrottled, errThrottled}, []float64{1, 2, 4.75, 10.9375}, nil, // 1 + ¾·(3·2 - 1), 1 + ¾·(3·4.75 - 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []float64
			op := c.p.With(retry.WithRand(func() float64 { return 0.75 })).Start(t.Context())
			var end error
			for _, err := range c.failures {
				var delay time.Duration
				if delay, end = op.Failed(retry.Outcome{Err: err}); end != nil {
					break
				}
				got = append(got, delay.Seconds())
			}
			if !slices.Equal(got, c.want) || !errors.Is(end, c.end) {
				t.Errorf("got %v, %v; want %v, %v", got, end, c.want, c.end)
			}
		})
	}
}

// A random number is drawn only for a backoff that is random.
func TestBackoffFor_Draws(t *testing.T) {
	drawn := 0
	p := every(1, retry.BackoffFor(is(errThrottled), backoff.Constant(1).Jitter(jitter.Full)),
		retry.WithRand(func() float64 { drawn++; return 0.5 }))
	op := p.Start(t.Context())
	for i, err := range []error{errBoom, errThrottled, errBoom, errThrottled} {
		_, _ = op.Failed(retry.Outcome{Err: err})
		if want := (i + 1) / 2; drawn != want {
			t.Errorf("failure %d: %d draws, want %d", i+1, drawn, want)
		}
	}
}

// Every driver waits as BackoffFor says.
func TestBackoffFor_EveryDriver(t *testing.T) {
	p := every(time.Second, retry.BackoffFor(is(errThrottled), backoff.Constant(time.Minute)))
	for name, run := range map[string]func(context.Context, func(context.Context) (int, error)) error{
		"Do": func(ctx context.Context, f func(context.Context) (int, error)) error {
			_, err := retry.Do(ctx, p, f)
			return err
		},
		"Attempts": func(ctx context.Context, f func(context.Context) (int, error)) error {
			for a, err := range p.Attempts(ctx) {
				if err != nil {
					return err
				}
				_, err = f(ctx)
				a.Fail(err)
			}
			return nil
		},
		"RetryWhen": func(ctx context.Context, f func(context.Context) (int, error)) error {
			return stream.FromFunc(f).RetryWhen(p).ForEach(ctx, func(int) {})
		},
		"MapRetry": func(ctx context.Context, f func(context.Context) (int, error)) error {
			call := func(ctx context.Context, _ int) (int, error) { return f(ctx) }
			return operators.MapRetry(stream.Of(1), p, call, operators.MapRetryOptions[int]{}).ForEach(ctx, func(int) {})
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, failures := time.Now(), []error{errBoom, errThrottled, nil}
				err := run(t.Context(), func(context.Context) (int, error) {
					failure := failures[0]
					failures = failures[1:]
					return 0, failure
				})
				if lasted := time.Since(start); err != nil || lasted != time.Minute+time.Second {
					t.Errorf("got %v after %v, want 1m1s", err, lasted)
				}
			})
		})
	}
}

package main

import (
	"context"
	"math"
	"time"

	avastretry "github.com/avast/retry-go/v5"
	backoff7 "github.com/cenkalti/backoff/v7"
	"github.com/failsafe-go/failsafe-go"
	"github.com/failsafe-go/failsafe-go/retrypolicy"
	sethvargoretry "github.com/sethvargo/go-retry"
	"k8s.io/apimachinery/pkg/util/wait"
)

func cenkalti() subject {
	use := func(b backoff7.BackOff, retries uint) operation {
		return func(ctx context.Context, attempt func(context.Context) error) error {
			_, err := backoff7.Retry(ctx, func() (int, error) { return 0, attempt(ctx) }, backoff7.WithBackOff(b), backoff7.WithMaxTries(retries+1))
			return err
		}
	}
	exponential := func(jitter float64, most time.Duration) *backoff7.ExponentialBackOff {
		return &backoff7.ExponentialBackOff{InitialInterval: base, RandomizationFactor: jitter, Multiplier: 2, MaxInterval: most}
	}
	return subject{
		name: "cenkalti/backoff", module: backoff7Module,
		doubling:   func(n int) []time.Duration { return times(n, exponential(0, noCap).NextBackOff) },
		doublingAt: []place{at("exponential.go", "if float64(b.currentInterval) >=")},
		jitter:     "`RandomizationFactor` 0.5, the default",
		capped: func(n int) []time.Duration {
			b := exponential(0.5, most)
			times(10, b.NextBackOff)
			return times(n, b.NextBackOff)
		},
		cappedAt:   []place{at("exponential.go", "Note: MaxInterval caps"), issue("cenkalti/backoff#139")},
		constant:   use(backoff7.NewConstantBackOff(pause), retries),
		constantAt: []place{at("retry.go", "case <-ctx.Done():")},
		shared:     func() operation { return use(exponential(0, time.Hour), 3) },
		sharedAt:   []place{at("exponential.go", "Note: Implementation is not thread-safe."), at("retry.go", "args.BackOff.Reset()")},
	}
}

// recorder is a timer that does not wait.
type recorder struct{ delays []time.Duration }

func (r *recorder) After(d time.Duration) <-chan time.Time {
	r.delays = append(r.delays, d)
	c := make(chan time.Time)
	close(c)
	return c
}

func avastWith(options ...avastretry.Option) operation {
	return func(ctx context.Context, attempt func(context.Context) error) error {
		return avastretry.New(append(options, avastretry.Context(ctx))...).Do(func() error { return attempt(ctx) })
	}
}

// avastDelays returns a Retrier's waits before its retries, after the first skip of them.
func avastDelays(n, skip int, options ...avastretry.Option) []time.Duration {
	r := &recorder{}
	options = append(options, avastretry.WithTimer(r), avastretry.Attempts(uint(n+skip+1)), avastretry.LastErrorOnly(true))
	_ = avastWith(options...)(context.Background(), func(context.Context) error { return errBoom })
	return r.delays[skip:]
}

func avast() subject {
	return subject{
		name: "avast/retry-go", module: avastModule,
		doubling: func(n int) []time.Duration {
			return avastDelays(n, 0, avastretry.Delay(base), avastretry.DelayType(avastretry.BackOffDelay))
		},
		doublingAt: []place{at("options.go", "return config.Delay() << n")},
		jitter:     "`BackOffDelay` + `RandomDelay` of 100 ms, the default",
		capped: func(n int) []time.Duration {
			return avastDelays(n, 10, avastretry.Delay(base), avastretry.MaxDelay(most))
		},
		cappedAt:   []place{at("retry.go", "if r.maxDelay > 0 && delayTime > r.maxDelay")},
		constant:   avastWith(avastretry.Delay(pause), avastretry.DelayType(avastretry.FixedDelay), avastretry.Attempts(retries+1)),
		constantAt: []place{at("retry.go", "return emptyT, append(errorLog, context.Cause(r.context))")},
		shared: func() operation {
			// One Retrier, as its documentation advises. So all its operations have the same context.
			r := avastretry.New(avastretry.Delay(base), avastretry.DelayType(avastretry.BackOffDelay), avastretry.Attempts(4))
			return func(ctx context.Context, attempt func(context.Context) error) error {
				return r.Do(func() error { return attempt(ctx) })
			}
		},
		sharedAt: []place{at("options.go", "The returned Retrier can be safely reused")},
	}
}

// avastFullJitter is avast/retry-go with its other jitter.
func avastFullJitter() subject {
	return subject{
		name: "avast/retry-go", module: avastModule,
		jitter: "`FullJitterBackoffDelay`",
		capped: func(n int) []time.Duration {
			return avastDelays(n, 10, avastretry.Delay(base), avastretry.MaxDelay(most), avastretry.DelayType(avastretry.FullJitterBackoffDelay))
		},
		cappedAt: []place{at("options.go", "if currentCap > 0 && backoffCeiling > currentCap")},
	}
}

// avastLastError is avast/retry-go without the list of all errors.
func avastLastError() subject {
	return subject{
		name: "avast/retry-go, `LastErrorOnly(true)`", module: avastModule,
		constant: avastWith(avastretry.Delay(pause), avastretry.DelayType(avastretry.FixedDelay), avastretry.Attempts(retries+1),
			avastretry.LastErrorOnly(true)),
		constantAt: []place{at("retry.go", "if r.lastErrorOnly {\n\t\t\t\treturn emptyT, context.Cause(r.context)")},
	}
}

func failsafeGo() subject {
	use := func(p retrypolicy.RetryPolicy[int]) operation {
		return func(ctx context.Context, attempt func(context.Context) error) error {
			return failsafe.With(p).WithContext(ctx).Run(func() error { return attempt(ctx) })
		}
	}
	// The delays are only visible as waits, which cost nothing on virtual time.
	scheduled := func(n, skip int, b retrypolicy.Builder[int]) (d []time.Duration) {
		b = b.WithMaxRetries(n + skip).OnRetryScheduled(func(e failsafe.ExecutionScheduledEvent[int]) { d = append(d, e.Delay) })
		_ = use(b.Build())(context.Background(), func(context.Context) error { return errBoom })
		return d[skip:]
	}
	return subject{
		name: "failsafe-go", module: failsafeModule,
		doubling: func(n int) []time.Duration {
			// WithBackoff requires a cap.
			return scheduled(n, 0, retrypolicy.NewBuilder[int]().WithBackoff(base, noCap))
		},
		doublingAt: []place{
			at("retrypolicy/retryexecutor.go", "backoffDelay := time.Duration(float64(e.lastDelay) * e.delayFactor)"),
			at("retrypolicy/retryexecutor.go", "return max(0, delay)"),
		},
		jitter: "`WithJitterFactor(0.5)`",
		capped: func(n int) []time.Duration {
			return scheduled(n, 10, retrypolicy.NewBuilder[int]().WithBackoff(base, most).WithJitterFactor(0.5))
		},
		cappedAt:   []place{at("retrypolicy/retryexecutor.go", "delay = util.ApplyJitter(")},
		constant:   use(retrypolicy.NewBuilder[int]().WithDelay(pause).WithMaxRetries(retries).Build()),
		constantAt: []place{at("retrypolicy/retryexecutor.go", "case <-exec.Canceled():")},
		shared: func() operation {
			return use(retrypolicy.NewBuilder[int]().WithBackoff(base, time.Hour).WithMaxRetries(3).Build())
		},
		sharedAt: []place{at("retrypolicy/retryexecutor.go", "// Mutable state")},
	}
}

func sethvargoWith(b sethvargoretry.Backoff) operation {
	return func(ctx context.Context, attempt func(context.Context) error) error {
		return sethvargoretry.Do(ctx, b, func(ctx context.Context) error { return sethvargoretry.RetryableError(attempt(ctx)) })
	}
}

func next(b sethvargoretry.Backoff) func() time.Duration {
	return func() time.Duration {
		d, _ := b.Next()
		return d
	}
}

func sethvargo() subject {
	return subject{
		name: "sethvargo/go-retry", module: sethvargoModule,
		doubling:   func(n int) []time.Duration { return times(n, next(sethvargoretry.NewExponential(base))) },
		doublingAt: []place{at("backoff_exponential.go", "if next <= 0 {")},
		jitter:     "`WithCappedDuration(30*time.Second, WithJitterPercent(50, b))`",
		capped: func(n int) []time.Duration {
			b := sethvargoretry.WithCappedDuration(most, sethvargoretry.WithJitterPercent(50, sethvargoretry.NewExponential(base)))
			times(10, next(b))
			return times(n, next(b))
		},
		cappedAt: []place{at("backoff.go", "if val > cap {")},
		constant: func(ctx context.Context, attempt func(context.Context) error) error {
			return sethvargoWith(sethvargoretry.WithMaxRetries(retries, sethvargoretry.NewConstant(pause)))(ctx, attempt)
		},
		constantAt: []place{at("retry.go", "if err := context.Cause(ctx); err != nil {"), at("retry.go", "t := time.NewTimer(next)")},
		shared: func() operation {
			return sethvargoWith(sethvargoretry.WithMaxRetries(3, sethvargoretry.NewExponential(base)))
		},
		sharedAt: []place{at("backoff_exponential.go", "attempt atomic.Uint64"), at("backoff.go", "attempt++")},
	}
}

func sethvargoOtherOrder() subject {
	return subject{
		name: "sethvargo/go-retry", module: sethvargoModule,
		jitter: "`WithJitterPercent(50, WithCappedDuration(30*time.Second, b))`",
		capped: func(n int) []time.Duration {
			b := sethvargoretry.WithJitterPercent(50, sethvargoretry.WithCappedDuration(most, sethvargoretry.NewExponential(base)))
			times(10, next(b))
			return times(n, next(b))
		},
		cappedAt: []place{at("backoff.go", "top := rand.Int64N(")},
	}
}

func k8s() subject {
	use := func(b wait.Backoff) operation {
		return func(ctx context.Context, attempt func(context.Context) error) error {
			return wait.ExponentialBackoffWithContext(ctx, b, func(ctx context.Context) (bool, error) { return attempt(ctx) == nil, nil })
		}
	}
	return subject{
		name: "k8s wait", module: k8sModule,
		doubling: func(n int) []time.Duration {
			b := wait.Backoff{Duration: base, Factor: 2, Steps: math.MaxInt32}
			return times(n, b.Step)
		},
		doublingAt: []place{at("pkg/util/wait/backoff.go", "next = time.Duration(float64(duration) * factor)")},
		jitter:     "`Jitter: 0.5`",
		capped: func(n int) []time.Duration {
			b := wait.Backoff{Duration: base, Factor: 2, Jitter: 0.5, Cap: most, Steps: math.MaxInt32}
			times(10, b.Step)
			return times(n, b.Step)
		},
		cappedAt:   []place{at("pkg/util/wait/backoff.go", "duration = Jitter(duration, jitter)"), issue("kubernetes/kubernetes#131122")},
		constant:   use(wait.Backoff{Duration: pause, Steps: retries + 1}),
		constantAt: []place{at("pkg/util/wait/backoff.go", "return ctx.Err()\n\t\tcase <-time.After(waitBeforeRetry)")},
		shared:     func() operation { return use(wait.Backoff{Duration: base, Factor: 2, Steps: 4}) },
		sharedAt:   []place{at("pkg/util/wait/backoff.go", "func ExponentialBackoffWithContext(ctx context.Context, backoff Backoff,")},
	}
}

package main

import (
	"context"
	"errors"
	"time"

	backoff4 "github.com/cenkalti/backoff/v4"
	ciliumstream "github.com/cilium/stream"
	"github.com/reactivex/rxgo/v2"
	"github.com/samber/ro"
)

func samber() subject {
	return subject{
		name: "samber/ro", module: roModule,
		constant: func(ctx context.Context, attempt func(context.Context) error) error {
			source := ro.NewObservableWithContext(func(ctx context.Context, destination ro.Observer[int]) ro.Teardown {
				if err := attempt(ctx); err != nil {
					destination.ErrorWithContext(ctx, err)
				} else {
					destination.CompleteWithContext(ctx)
				}
				return nil
			})
			_, _, err := ro.CollectWithContext(ctx, ro.RetryWithConfig[int](ro.RetryConfig{MaxRetries: retries, Delay: pause})(source))
			return err
		},
		constantAt: []place{at("operator_error_handling.go", "case <-subscriberCtx.Done():\n\t\t\t\t\t\t\t\tdestination")},
	}
}

// ciliumWith retries with r, but not an error of the context.
func ciliumWith(r ciliumstream.RetryFunc) operation {
	return func(ctx context.Context, attempt func(context.Context) error) error {
		source := ciliumstream.FuncObservable[int](func(ctx context.Context, _ func(int), complete func(error)) {
			go func() {
				if ctx.Err() != nil {
					complete(ctx.Err())
				} else {
					complete(attempt(ctx))
				}
			}()
		})
		_, err := ciliumstream.ToSlice(ctx, ciliumstream.Retry(source, r))
		return err
	}
}

func notCancelled(err error) bool {
	return !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

func cilium() subject {
	return subject{
		name: "cilium/stream", module: ciliumModule,
		jitter: "none",
		capped: func(n int) []time.Duration {
			r := ciliumstream.BackoffRetry(ciliumstream.AlwaysRetry, base, most)
			wait := func() time.Duration { // it sleeps and returns no delay
				began := time.Now()
				r(errBoom)
				return time.Since(began)
			}
			times(10, wait)
			return times(n, wait)
		},
		cappedAt: []place{at("operators.go", "if backoff > maxBackoff {")},
		constant: func(ctx context.Context, attempt func(context.Context) error) error {
			r := ciliumstream.LimitRetries(ciliumstream.BackoffRetry(notCancelled, pause, pause), retries)
			return ciliumWith(r)(ctx, attempt)
		},
		constantAt: []place{at("operators.go", "time.Sleep(backoff)")},
		shared: func() operation {
			return ciliumWith(ciliumstream.LimitRetries(ciliumstream.BackoffRetry(notCancelled, base, time.Hour), 3))
		},
		sharedAt: []place{at("operators.go", "backoff := minBackoff"), at("operators.go", "numRetries--")},
	}
}

// rxWith uses rxgo with b and a cold source that makes one attempt each time.
func rxWith(b func(context.Context) backoff4.BackOff) operation {
	return func(ctx context.Context, attempt func(context.Context) error) error {
		source := rxgo.Defer([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
			if err := attempt(ctx); err != nil {
				next <- rxgo.Error(err)
			}
		}}, rxgo.WithContext(ctx))
		for item := range source.BackOffRetry(b(ctx), rxgo.WithContext(ctx)).Observe() {
			if item.Error() {
				return item.E
			}
		}
		return nil
	}
}

func rx() subject {
	exponential := func(jitter float64, most time.Duration) *backoff4.ExponentialBackOff {
		b := backoff4.NewExponentialBackOff()
		b.InitialInterval, b.RandomizationFactor, b.Multiplier, b.MaxInterval, b.MaxElapsedTime = base, jitter, 2, most, 0
		b.Reset()
		return b
	}
	return subject{
		name: "rxgo `BackOffRetry`", module: rxgoModule,
		doubling:   func(n int) []time.Duration { return times(n, exponential(0, noCap).NextBackOff) },
		doublingAt: []place{in(backoff4Module, "exponential.go", "return time.Duration(minInterval + ")},
		jitter:     "`RandomizationFactor` 0.5, the default",
		capped: func(n int) []time.Duration {
			b := exponential(0.5, most)
			times(10, b.NextBackOff)
			return times(n, b.NextBackOff)
		},
		cappedAt: []place{in(backoff4Module, "exponential.go", "return time.Duration(minInterval + "), issue("cenkalti/backoff#117")},
		constant: rxWith(func(ctx context.Context) backoff4.BackOff {
			return backoff4.WithContext(backoff4.WithMaxRetries(backoff4.NewConstantBackOff(pause), retries), ctx)
		}),
		constantAt: []place{at("observable_operator.go", "Error(err).SendContext(ctx, next)"), in(backoff4Module, "context.go", "deadline.Sub(time.Now()) < next")},
		shared: func() operation {
			b := backoff4.WithMaxRetries(exponential(0, time.Hour), 3)
			return rxWith(func(context.Context) backoff4.BackOff { return b })
		},
		sharedAt: []place{in(backoff4Module, "retry.go", "b.Reset()"), in(backoff4Module, "exponential.go", "Note: Implementation is not thread-safe.")},
	}
}

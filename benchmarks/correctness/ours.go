package main

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	policy "github.com/retrywhen/retrywhen/retry"
	rw "github.com/retrywhen/retrywhen/stream"
)

func ours() subject {
	use := func(p policy.Policy) operation {
		return func(ctx context.Context, attempt func(context.Context) error) error {
			return policy.Run(ctx, p, attempt)
		}
	}
	return subject{
		name: "retrywhen `retry.Do`", module: retrywhenModule,
		doubling: func(n int) []time.Duration {
			b := backoff.Exponential(base, 2)
			i := 0
			return times(n, func() time.Duration { i++; return b.Delay(i) })
		},
		jitter: "`jitter.Default`, ±15 %",
		capped: func(n int) []time.Duration {
			b := backoff.Exponential(base, 2).Cap(most).Jitter(jitter.Default)
			return times(n, func() time.Duration { return b.Delay(20) })
		},
		constant: use(policy.New(backoff.Constant(pause), policy.Limit(retries))),
		shared:   func() operation { return use(policy.New(backoff.Exponential(base, 2), policy.Limit(3))) },
	}
}

// stream is this library's RetryWhen.
func stream() subject {
	use := func(p policy.Policy) operation {
		return func(ctx context.Context, attempt func(context.Context) error) error {
			s := rw.FromFunc(func(ctx context.Context) (int, error) { return 1, attempt(ctx) })
			return s.RetryWhen(p).ForEach(ctx, func(int) {})
		}
	}
	return subject{
		name: "retrywhen `RetryWhen`", module: retrywhenModule,
		constant: use(policy.New(backoff.Constant(pause), policy.Limit(retries))),
		shared:   func() operation { return use(policy.New(backoff.Exponential(base, 2), policy.Limit(3))) },
	}
}

// handWritten is the usual loop by hand.
func handWritten() subject {
	return subject{
		name: "a loop with `delay *= 2`",
		doubling: func(n int) []time.Duration {
			d := base / 2
			return times(n, func() time.Duration { d *= 2; return d })
		},
		jitter: "`rand.N(min(delay, 30*time.Second))`",
		capped: func(n int) []time.Duration {
			return times(n, func() time.Duration { return rand.N(min(64*base, most)) })
		},
		constant: func(ctx context.Context, attempt func(context.Context) error) error {
			for n := 0; ; n++ {
				err := attempt(ctx)
				if err == nil || n == retries {
					return err
				}
				select {
				case <-time.After(pause):
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		},
	}
}

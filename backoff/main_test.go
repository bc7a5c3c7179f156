package backoff_test

import (
	"math"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
)

func TestMain(m *testing.M) { check.Main(m) }

const (
	ms      = time.Millisecond
	longest = time.Duration(math.MaxInt64)
	below1  = 1 - 1.0/(1<<53) // the largest draw
)

// one of each kind, with nothing done to it.
func everyCurve() []backoff.Backoff {
	return []backoff.Backoff{
		{},
		backoff.Constant(time.Second),
		backoff.Linear(time.Second),
		backoff.Quadratic(time.Second),
		backoff.Polynomial(time.Second, 3),
		backoff.Polynomial(time.Second, 0.5),
		backoff.Polynomial(time.Second, 1.7),
		backoff.Exponential(100*ms, 2),
		backoff.Exponential(100*ms, 3),
		backoff.Exponential(100*ms, 1.5),
		backoff.Exponential(time.Hour, 0.5),
		backoff.Fibonacci(time.Second),
		backoff.Table(10*ms, time.Second, 100*ms),
		backoff.Default,
		backoff.Sidekiq(),
		backoff.Buckets(time.Second, 2),
		backoff.Buckets(time.Second, 1.3),
		backoff.Decorrelated(100 * ms),
		backoff.Func(func(n int, u float64) time.Duration { return time.Duration(float64(n) * u * 1e9) }),
	}
}

var everyJitter = []jitter.Jitter{
	jitter.None, jitter.Default, jitter.Full, jitter.Equal, jitter.Deviation(0.5), jitter.Deviation(1),
	jitter.Uniform(0, 0), jitter.Uniform(0.2, 0.4), jitter.Uniform(2, 10), jitter.Uniform(0, 1e300),
	jitter.Func(func(u float64) float64 { return u * u * 3 }),
}

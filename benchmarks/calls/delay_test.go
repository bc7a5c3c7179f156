package calls

import (
	"math/rand/v2"
	"testing"
	"time"

	goretry "github.com/avast/retry-go/v5"
	backoff7 "github.com/cenkalti/backoff/v7"
	sethvargo "github.com/sethvargo/go-retry"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
)

// delays is the number of delays of one operation.
const delays = 8

const (
	base = 100 * time.Millisecond
	most = 30 * time.Second
)

// waiter is one library's exponential backoff, 100 ms, factor 2, capped at 30 s, with its jitter. It is made once, with
// everything that operations may share. Its result begins an operation, and returns the function for the next delay.
// failsafe-go does not expose its delays.
type waiter struct {
	name   string
	make   func() func() func(n int) time.Duration
	lo, hi float64 // the jitter's factors
}

var waiters = []waiter{
	{"loop", func() func() func(int) time.Duration {
		return func() func(int) time.Duration {
			d := base
			return func(int) time.Duration {
				now := min(d, most)
				d *= 2
				return rand.N(now)
			}
		}
	}, 0, 1},
	{"retrywhen", func() func() func(int) time.Duration {
		b := backoff.Exponential(base, 2).Cap(most).Jitter(jitter.Full)
		delay := func(n int) time.Duration { return b.Delay(n) }
		return func() func(int) time.Duration { return delay }
	}, 0, 1},
	{"cenkalti-backoff", func() func() func(int) time.Duration {
		return func() func(int) time.Duration { // "Implementation is not thread-safe."
			b := &backoff7.ExponentialBackOff{InitialInterval: base, RandomizationFactor: 0.5, Multiplier: 2, MaxInterval: most}
			return func(int) time.Duration { return b.NextBackOff() }
		}
	}, 0.5, 1.5},
	{"avast-retry-go", func() func() func(int) time.Duration {
		r := goretry.New(goretry.Delay(base), goretry.MaxDelay(most))
		return func() func(int) time.Duration {
			// Its n counts from 1 and it doubles before the first delay, so this n is one less.
			return func(n int) time.Duration { return goretry.FullJitterBackoffDelay(uint(n-1), nil, r) }
		}
	}, 0, 1},
	{"sethvargo-go-retry", func() func() func(int) time.Duration {
		return func() func(int) time.Duration { // it has state
			b := sethvargo.WithCappedDuration(most, sethvargo.WithJitterPercent(50, sethvargo.NewExponential(base)))
			return func(int) time.Duration { d, _ := b.Next(); return d }
		}
	}, 0.5, 1.5},
	{"k8s-wait", func() func() func(int) time.Duration {
		b := wait.Backoff{Duration: base, Factor: 2, Jitter: 0.5, Cap: most, Steps: limit}
		return func() func(int) time.Duration {
			b := b
			return func(int) time.Duration { return b.Step() }
		}
	}, 1, 1.5},
}

func TestEveryWaiterDoubles(t *testing.T) {
	for _, w := range waiters {
		begin := w.make()
		for range 100 {
			next := begin()
			for n := 1; n <= delays; n++ {
				curve := float64(min(base<<(n-1), most))
				d := float64(next(n))
				if d < w.lo*curve || d > w.hi*curve+1 {
					t.Errorf("%s: delay %d is %v, want between %v and %v times %v", w.name, n, time.Duration(d), w.lo, w.hi, time.Duration(curve))
				}
			}
		}
	}
}

var sink time.Duration

// BenchmarkDelay: an op is the eight delays of an operation.
func BenchmarkDelay(b *testing.B) {
	for _, w := range waiters {
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			begin := w.make()
			for b.Loop() {
				next := begin()
				for n := 1; n <= delays; n++ {
					sink = next(n)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/delays, "ns/delay")
		})
	}
}

// BenchmarkDelayParallel: the same on one goroutine per processor. They share what may be shared.
func BenchmarkDelayParallel(b *testing.B) {
	for _, w := range waiters {
		b.Run(w.name, func(b *testing.B) {
			b.ReportAllocs()
			begin := w.make()
			b.RunParallel(func(pb *testing.PB) {
				var last time.Duration
				for pb.Next() {
					next := begin()
					for n := 1; n <= delays; n++ {
						last += next(n)
					}
				}
				if last < 0 {
					panic("negative")
				}
			})
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/delays, "ns/delay")
		})
	}
}

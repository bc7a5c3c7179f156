package backoff_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
)

// named are the backoffs that the benchmarks measure.
var named = []struct {
	name string
	b    backoff.Backoff
}{
	{"Default", backoff.Default},
	{"Constant", backoff.Constant(time.Second)},
	{"Linear jitter=full", backoff.Linear(time.Second).Jitter(jitter.Full)},
	{"Quadratic jitter=default", backoff.Quadratic(time.Second).Jitter(jitter.Default)},
	{"Exponential cap jitter=full", backoff.Exponential(100*ms, 2).Cap(30 * time.Second).Jitter(jitter.Full)},
	{"Exponential factor=1.5 jitter=default", backoff.Exponential(time.Second, 1.5).Jitter(jitter.Default)},
	{"Polynomial degree=1.5", backoff.Polynomial(time.Second, 1.5)},
	{"Polynomial degree=1.7", backoff.Polynomial(time.Second, 1.7)},
	{"Fibonacci jitter=equal", backoff.Fibonacci(time.Second).Jitter(jitter.Equal)},
	{"Sidekiq", backoff.Sidekiq()},
	{"Buckets", backoff.Buckets(time.Second, 2)},
	{"Tiled", backoff.Linear(time.Second).Tiled()},
	{"Tiled keyed", backoff.Linear(time.Second).Tiled().Keyed(1)},
}

var sink time.Duration

// The draw alone, to compare the rest with.
func BenchmarkDraw(b *testing.B) {
	for b.Loop() {
		sink = time.Duration(rand.Float64() * 1e9)
	}
}

func BenchmarkDelay(b *testing.B) {
	for _, bb := range named {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n++
				sink = bb.b.Delay(n&7 + 1)
			}
		})
	}
}

// With -cpu 1,2,4 the time per call falls as the processors rise.
func BenchmarkDelayParallel(b *testing.B) {
	for _, bb := range named {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				n := 0
				for pb.Next() {
					n++
					bb.b.Delay(n&7 + 1)
				}
			})
		})
	}
}

func BenchmarkAt(b *testing.B) {
	bb, n := backoff.Exponential(100*ms, 2).Cap(30*time.Second).Jitter(jitter.Full), 0
	for b.Loop() {
		n++
		sink = bb.At(n&7+1, 0.3)
	}
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := backoff.Parse("exponential base=100ms factor=2 cap=30s jitter=full"); err != nil {
			b.Fatal(err)
		}
	}
}

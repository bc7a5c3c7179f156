// Package items measures the cost of one int that passes through map, filter and reduce, with each library in its own
// idiom. Then it measures the same with the library's own retry around map and filter, without failures.
package items

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

// million is the number of items in an op, except with -short.
const million = 1_000_000

// The functions of every pipeline. They are variables, so that they cannot be inlined.
var (
	triple = func(v int) int { return 3 * v }
	even   = func(v int) bool { return v%2 == 0 }
	plus   = func(sum, v int) int { return sum + v }
)

// pipeline is one library's way to sum the even triples of 0 to n-1.
type pipeline struct {
	name string
	run  func(ctx context.Context, n int) (int, error)
	cpu  bool // it is measured by the CPU time of its thread, the only one it uses, and not by the clock
}

// want is what a pipeline of n items must return.
func want(n int) int {
	sum := 0
	for v := range n {
		if v*3%2 == 0 {
			sum += v * 3
		}
	}
	return sum
}

var plain = []pipeline{
	{"loop", loop, true},
	{"loop-inlined", inlined, true},
	{"iter.Seq", sequence, true},
	{"retrywhen", ours, true},
	{"retrywhen-background", background(ours), true},
	{"retrywhen-inlined", background(oursInlined), true},
	{"samber-ro", samber(nil), false},
	{"cilium-stream", cilium(nil), false},
	{"rxgo", rx(nil), false},
	{"destel-rill", rillPipeline, false},
	{"sourcegraph-conc", concPipeline, false},
	{"channels", channels(0, false), false},
	{"channels-select", channels(0, true), false},
	{"channels-buffered", channels(128, false), false},
	{"channels-buffered-select", channels(128, true), false},
}

var retried = []pipeline{
	{"loop", loopRetried, true},
	{"retrywhen", oursRetried, true},
	{"retrywhen-background", background(oursRetried), true},
	{"samber-ro", samber(samberRetry), false},
	{"cilium-stream", cilium(ciliumRetry), false},
	{"rxgo-Retry", rx(rxRetry), false},
	{"rxgo-BackOffRetry", rx(rxBackOffRetry), false},
	{"channels-select", channelsRetried, false},
}

func TestEveryPipelineComputesTheSame(t *testing.T) {
	for kind, pipelines := range map[string][]pipeline{"plain": plain, "retried": retried} {
		for _, p := range pipelines {
			for _, n := range []int{0, 1, 2, 1000} {
				got, err := p.run(t.Context(), n)
				if err != nil || got != want(n) {
					t.Errorf("%s/%s: %d items: got %d, %v, want %d", kind, p.name, n, got, err, want(n))
				}
			}
		}
	}
}

func BenchmarkItems(b *testing.B) {
	n := million
	if testing.Short() {
		n /= 10
	}
	sum := want(n)
	for _, set := range []struct {
		kind      string
		pipelines []pipeline
	}{{"plain", plain}, {"retried", retried}} {
		for _, p := range set.pipelines {
			b.Run(fmt.Sprintf("%s/%s", set.kind, p.name), func(b *testing.B) {
				if p.cpu {
					runtime.LockOSThread()
					defer runtime.UnlockOSThread()
				}
				b.ReportAllocs()
				start := cpuTime(b)
				for b.Loop() {
					if got, err := p.run(b.Context(), n); err != nil || got != sum {
						b.Fatalf("got %d, %v, want %d", got, err, sum)
					}
				}
				took := b.Elapsed()
				if p.cpu {
					took = cpuTime(b) - start
				}
				b.ReportMetric(float64(took.Nanoseconds())/float64(b.N)/float64(n), "ns/item")
			})
		}
	}
}

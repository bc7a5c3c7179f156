// Package between measures the cost of one int that passes from one goroutine to another, or through an operator that
// does so, compared with plain channels and with other libraries in their own idiom. The guarantees differ:
//
//   - This library's source continues when its consumer is done with the item, except with Buffer, Batch, Window, FlatMap
//     and pools, which hold items. With channels, rill, conc and cilium it continues when the item was taken.
//   - After a cancellation, this library returns when everything that it started has returned. Channels and rill
//     leave their goroutines, unless their items are drained.
//   - conc's pool, as used here, passes no errors on.
package between

import (
	"context"
	"sync/atomic"
	"testing"
)

// way passes the ints from 0 to n-1 to a consumer that adds them up.
type way struct {
	name string
	run  func(ctx context.Context, n int) (sum int, err error)
}

// kinds groups ways that do the same. The result is the sum of the ints, times a factor.
var kinds = []struct {
	name   string
	factor int
	ways   []way
}{
	{"hand-over", 1, []way{
		{"channel", channel(0)},
		{"channel-answered", channelAnswered},
		{"channel-128", channel(128)},
		{"retrywhen-Buffer(128)", buffer},
		{"destel-rill-Buffer(128)", rillBuffer},
		{"samber-ro-ObserveOn(128)", roObserveOn},
	}},
	{"timeout", 1, []way{
		{"channel", channel(0)},
		{"channel-timer", channelTimer},
		{"retrywhen", timeout},
		{"samber-ro", roTimeout},
	}},
	{"merge", 1, []way{
		{"channel", channel(0)},
		{"retrywhen", merge},
		{"destel-rill", rillMerge},
		{"samber-ro", roMerge},
	}},
	{"zip", 1, []way{
		{"channel", channel(0)},
		{"retrywhen", zip},
		{"samber-ro", roZip},
	}},
	{"share", 2, []way{
		{"channel", twice(channel(0))},
		{"retrywhen", share},
		{"cilium-stream", ciliumMulticast},
	}},
	{"batch", 1, []way{
		{"channel", channel(0)},
		{"retrywhen", batch},
		{"destel-rill", rillBatch},
		{"samber-ro", roBatch},
		{"cilium-stream", ciliumBuffer},
	}},
	{"flatmap", 1, []way{
		{"channel-pool", channelPool},
		{"retrywhen", flatMap},
		{"destel-rill", rillFlatMap},
		{"sourcegraph-conc", concPool},
	}},
}

func TestEveryWayTakesAllItems(t *testing.T) {
	for _, kind := range kinds {
		for _, w := range kind.ways {
			for _, n := range []int{2, 200, 1000} {
				if got, err := w.run(t.Context(), n); err != nil || got != kind.factor*n*(n-1)/2 {
					t.Errorf("%s/%s: %d items: got %d, %v, want %d", kind.name, w.name, n, got, err, kind.factor*n*(n-1)/2)
				}
			}
		}
	}
}

// BenchmarkBetween passes many items in one op, so that the cost of starting a run does not matter.
func BenchmarkBetween(b *testing.B) {
	const n = 20_000
	for _, kind := range kinds {
		for _, w := range kind.ways {
			b.Run(kind.name+"/"+w.name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if got, err := w.run(b.Context(), n); err != nil || got != kind.factor*n*(n-1)/2 {
						b.Fatalf("got %d, %v", got, err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
			})
		}
	}
}

// adder adds up, on any number of goroutines.
type adder struct{ sum atomic.Int64 }

func (a *adder) add(v int) { a.sum.Add(int64(v)) }

func (a *adder) total() int { return int(a.sum.Load()) }

func first(a, _ int) int { return a }

//go:build go1.27

package stream_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// BenchmarkSpellings runs one pipeline as functions and as methods.
func BenchmarkSpellings(b *testing.B) {
	const n = 1_000_000
	double := func(v int) int { return 2 * v }
	third := func(v int) bool { return v%3 == 0 }
	add := func(sum, v int) int { return sum + v }
	for _, spelling := range []struct {
		name     string
		pipeline stream.Stream[int]
	}{
		{"functions", operators.Reduce(operators.Map(stream.Range(0, n), double).Filter(third), 0, add)},
		{"methods", stream.Range(0, n).Map(double).Filter(third).Reduce(0, add)},
	} {
		b.Run(spelling.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if sum, err := spelling.pipeline.Collect(b.Context()); err != nil || len(sum) != 1 {
					b.Fatal(sum, err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/item")
		})
	}
}

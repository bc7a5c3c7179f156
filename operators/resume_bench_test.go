package operators_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// BenchmarkResumeItem is one value of a stream alone, under RetryWhen, and under Resume.
func BenchmarkResumeItem(b *testing.B) {
	policy := operators.ExpBackoff(jitter.Default, time.Second, 3)
	next := func(_, v int) int { return v + 1 }
	for _, bench := range []struct {
		name string
		make func(n int) stream.Stream[int]
	}{
		{"bare", func(n int) stream.Stream[int] { return stream.Range(0, n) }},
		{"RetryWhen", func(n int) stream.Stream[int] { return stream.Range(0, n).RetryWhen(policy) }},
		{"Resume", func(n int) stream.Stream[int] {
			return operators.Resume(0, func(at int) stream.Stream[int] { return stream.Range(at, n-at) }, next, policy)
		}},
	} {
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			s := bench.make(b.N)
			b.ResetTimer()
			if err := s(context.Background(), func(v int) bool { sink = v; return true }); err != nil {
				b.Fatal(err)
			}
		})
	}
}

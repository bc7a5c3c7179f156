package operators_test

import (
	"context"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// BenchmarkResumeItem is one value of a stream alone, under RetryWhen, and under Resume and ResumeMarked.
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
		{"ResumeMarked", func(n int) stream.Stream[int] {
			return operators.ResumeMarked(0, func(at int) stream.Stream[operators.Marked[int, int]] {
				return func(_ context.Context, yield func(operators.Marked[int, int]) bool) error {
					for v := at; v < n; v++ {
						if !yield(operators.Marked[int, int]{Value: v, At: v + 1}) {
							return nil
						}
					}
					return nil
				}
			}, policy)
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

// BenchmarkPollItem is one value of a slice, and one of a page of a hundred.
func BenchmarkPollItem(b *testing.B) {
	values := make([]int, 100)
	run := func(name string, s func(n int) stream.Stream[int]) {
		for kind, ctx := range map[string]context.Context{"": b.Context(), " without an end": context.Background()} {
			b.Run(name+kind, func(b *testing.B) {
				b.ReportAllocs()
				n := 0
				if err := s(b.N)(ctx, func(v int) bool { n++; sink = v; return n < b.N }); err != nil {
					b.Fatal(err)
				}
			})
		}
	}
	run("FromSlice", func(n int) stream.Stream[int] { return stream.FromSlice(values).Repeat(n) })
	run("Poll", func(int) stream.Stream[int] {
		return operators.Poll(time.Second, 0, func(_ context.Context, at int) ([]int, int, error) { return values, at + 1, nil },
			operators.ExpBackoff(jitter.Default, time.Second, 3))
	})
}

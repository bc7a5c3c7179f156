package items

import (
	"context"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// chain is a chain of operators in one of the forms in which it can be built, and the loop that does the same. They are
// called through this struct, so that the compiler does not see the context that they are called with.
type chain struct {
	name         string
	cancellable  bool
	stream, loop func(ctx context.Context, n int) int
}

var chains = []chain{
	{"literals", false, literals, literalsLoop},
	{"literals-cancellable", true, literals, literalsLoopWithContext},
	{"functions", false, functions, functionsLoop},
	{"functions-cancellable", true, functions, functionsLoopWithContext},
	{"All-cancellable", true, all, literalsLoopWithContext},
	{"TryMap-Take-Skip-Scan", false, four, functionsLoop},
	{"in-a-variable", false, inVariable, functionsLoop},
	{"an-operator-twice", false, twice, literalsLoop},
	{"RetryWhen", false, withRetry, functionsLoop},
	{"RetryWhen-of-a-literal", false, withRetryOfLiteral, functionsLoop},
	{"RetryWhen-of-a-literal-with-Reduce", false, withRetryOfReduced, functionsLoop},
}

// The loops.

func literalsLoop(_ context.Context, n int) int {
	sum := 0
	for v := range n {
		if v := 3 * v; v%2 == 0 {
			sum += v
		}
	}
	return sum
}

func literalsLoopWithContext(ctx context.Context, n int) int {
	sum := 0
	for v := range n {
		if ctx.Err() != nil {
			return 0
		}
		if v := 3 * v; v%2 == 0 {
			sum += v
		}
	}
	return sum
}

func functionsLoop(_ context.Context, n int) int {
	sum := 0
	for v := range n {
		if v := triple(v); even(v) {
			sum = plus(sum, v)
		}
	}
	return sum
}

func functionsLoopWithContext(ctx context.Context, n int) int {
	sum := 0
	for v := range n {
		if ctx.Err() != nil {
			return 0
		}
		if v := triple(v); even(v) {
			sum = plus(sum, v)
		}
	}
	return sum
}

// The chains.

func literals(ctx context.Context, n int) (result int) {
	s := operators.Map(stream.Range(0, n), func(v int) int { return 3 * v }).Filter(func(v int) bool { return v%2 == 0 })
	_ = operators.Reduce(s, 0, func(sum, v int) int { return sum + v }).ForEach(ctx, func(sum int) { result = sum })
	return result
}

func functions(ctx context.Context, n int) (result int) {
	s := operators.Map(stream.Range(0, n), triple).Filter(even)
	_ = operators.Reduce(s, 0, plus).ForEach(ctx, func(sum int) { result = sum })
	return result
}

func all(ctx context.Context, n int) int {
	sum := 0
	s := operators.Map(stream.Range(0, n), func(v int) int { return 3 * v }).Filter(func(v int) bool { return v%2 == 0 })
	for v, err := range s.All(ctx) {
		if err != nil {
			return 0
		}
		sum += v
	}
	return sum
}

func four(ctx context.Context, n int) (result int) {
	s := operators.TryMap(stream.Range(0, n), func(_ context.Context, v int) (int, error) {
		if v%2 != 0 {
			return 0, nil
		}
		return 3 * v, nil
	})
	_ = operators.Scan(s.Take(n).Skip(1), 0, func(sum, v int) int { return sum + v }).ForEach(ctx, func(sum int) { result = sum })
	return result
}

// variable is the pipeline, built once.
var variable = operators.Reduce(operators.Map(stream.Range(0, million), triple).Filter(even), 0, plus)

func inVariable(ctx context.Context, n int) (result int) {
	s := variable
	if n != million {
		s = operators.Reduce(operators.Map(stream.Range(0, n), triple).Filter(even), 0, plus)
	}
	_ = s.ForEach(ctx, func(sum int) { result = sum })
	return result
}

func twice(ctx context.Context, n int) (sum int) {
	_ = operators.Map(stream.Range(0, n).Filter(func(v int) bool { return v%2 == 0 }), func(v int) int { return 3 * v }).
		Filter(func(v int) bool { return v%2 == 0 }).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func withRetry(ctx context.Context, n int) (result int) {
	s := operators.Map(stream.Range(0, n), triple).Filter(even).RetryWhen(policy)
	_ = operators.Reduce(s, 0, plus).ForEach(ctx, func(sum int) { result = sum })
	return result
}

// withRetryOfLiteral builds what RetryWhen runs in a literal, where it is one loop.
func withRetryOfLiteral(ctx context.Context, n int) (result int) {
	s := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
		return operators.Map(stream.Range(0, n), triple).Filter(even)(ctx, yield)
	}).RetryWhen(policy)
	_ = operators.Reduce(s, 0, plus).ForEach(ctx, func(sum int) { result = sum })
	return result
}

func withRetryOfReduced(ctx context.Context, n int) (result int) {
	_ = stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
		return operators.Reduce(operators.Map(stream.Range(0, n), triple).Filter(even), 0, plus)(ctx, yield)
	}).RetryWhen(policy).ForEach(ctx, func(sum int) { result = sum })
	return result
}

func TestEveryChainComputesTheSame(t *testing.T) {
	for _, c := range chains {
		for _, n := range []int{0, 1, 2, 1000} {
			if got, loop := c.stream(t.Context(), n), c.loop(t.Context(), n); got != want(n) || loop != want(n) {
				t.Errorf("%s: %d items: got %d and %d, want %d", c.name, n, got, loop, want(n))
			}
		}
	}
}

// BenchmarkChain reports the CPU time of the thread: the least of all runs, because what disturbs a run makes it
// longer.
func BenchmarkChain(b *testing.B) {
	n := million
	if testing.Short() {
		n /= 10
	}
	for _, c := range chains {
		for kind, run := range map[string]func(context.Context, int) int{"loop": c.loop, "retrywhen": c.stream} {
			b.Run(c.name+"/"+kind, func(b *testing.B) {
				runtime.LockOSThread()
				defer runtime.UnlockOSThread()
				ctx := context.Background()
				if c.cancellable {
					ctx = b.Context()
				}
				least, sum := time.Duration(math.MaxInt64), want(n)
				b.ReportAllocs()
				for b.Loop() {
					start := cpuTime(b)
					if got := run(ctx, n); got != sum {
						b.Fatalf("got %d, want %d", got, sum)
					}
					least = min(least, cpuTime(b)-start)
				}
				b.ReportMetric(float64(least.Nanoseconds())/float64(n), "ns/item")
			})
		}
	}
}

package backoff_test

import (
	"math"
	"math/big"
	"strconv"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
)

func TestCurves(t *testing.T) {
	s := time.Second
	tests := []struct {
		b    backoff.Backoff
		want []time.Duration // from n = 1
	}{
		{backoff.Backoff{}, []time.Duration{0, 0, 0}},
		{backoff.Constant(3 * s), []time.Duration{3 * s, 3 * s, 3 * s}},
		{backoff.Linear(2 * s), []time.Duration{2 * s, 4 * s, 6 * s, 8 * s}},
		{backoff.Quadratic(s), []time.Duration{s, 4 * s, 9 * s, 16 * s, 25 * s}},
		{backoff.Polynomial(s, 0), []time.Duration{s, s, s}},
		{backoff.Polynomial(s, 1), []time.Duration{s, 2 * s, 3 * s}},
		{backoff.Polynomial(s, 3), []time.Duration{s, 8 * s, 27 * s, 64 * s}},
		{backoff.Polynomial(s, 0.5), []time.Duration{s, 1414213562, 1732050808, 2 * s, 2236067977, 2449489743, 2645751311, 2828427125, 3 * s}},
		{backoff.Polynomial(s, 1.5), []time.Duration{s, 2828427125, 5196152423, 8 * s, 11180339887}},
		{backoff.Polynomial(s, 1.25), []time.Duration{s, 2378414230, 3948222039, 5656854249}},
		{backoff.Exponential(100*ms, 2), []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms}},
		{backoff.Exponential(2*s, 2), []time.Duration{2 * s, 4 * s, 8 * s, 16 * s}},
		{backoff.Exponential(s, 3), []time.Duration{s, 3 * s, 9 * s, 27 * s}},
		{backoff.Exponential(s, 1.5), []time.Duration{s, 1500 * ms, 2250 * ms, 3375 * ms}},
		{backoff.Exponential(s, 1.1), []time.Duration{s, 1100 * ms, 1210 * ms, 1331 * ms}},
		{backoff.Exponential(s, 1), []time.Duration{s, s, s}},
		{backoff.Exponential(s, 0.7), []time.Duration{s, 700 * ms, 490 * ms, 343 * ms}},
		{backoff.Exponential(s, 0), []time.Duration{s, 0, 0}},
		{backoff.Fibonacci(10 * ms), []time.Duration{10 * ms, 10 * ms, 20 * ms, 30 * ms, 50 * ms, 80 * ms, 130 * ms}},
		{backoff.Table(s), []time.Duration{s, s, s}},
		{backoff.Table(3*s, s, 2*s), []time.Duration{3 * s, s, 2 * s, 2 * s, 2 * s}},
		{backoff.Func(func(n int, _ float64) time.Duration { return time.Duration(n-2) * s }), []time.Duration{0, 0, s, 2 * s}},
		{backoff.Exponential(s, 2).Plus(5 * s), []time.Duration{6 * s, 7 * s, 9 * s, 13 * s}},
		{backoff.Exponential(s, 2).Plus(5 * s).Cap(8 * s), []time.Duration{6 * s, 7 * s, 8 * s, 8 * s}},
		{backoff.Exponential(1<<40, 2).Plus(1), []time.Duration{1<<40 + 1, 1<<41 + 1, 1<<42 + 1}},
		{backoff.Table(0, longest), []time.Duration{0, longest, longest}},
	}
	for _, tt := range tests {
		for i, want := range tt.want {
			for _, u := range []float64{0, 0.5, below1} {
				if got := tt.b.At(i+1, u); got != want {
					t.Errorf("(%v).At(%d, %v) = %v, want %v", tt.b, i+1, u, got, want)
				}
			}
			if got := tt.b.Delay(i + 1); got != want {
				t.Errorf("(%v).Delay(%d) = %v, want %v", tt.b, i+1, got, want)
			}
			if got := tt.b.Ceiling(i + 1); got != want {
				t.Errorf("(%v).Ceiling(%d) = %v, want %v", tt.b, i+1, got, want)
			}
		}
	}
}

func TestBeforeTheFirstFailureThereIsNoDelay(t *testing.T) {
	called := false
	f := backoff.Func(func(int, float64) time.Duration { called = true; return time.Hour })
	for _, b := range append(everyCurve(), f, backoff.Linear(1).Tiled(), backoff.Linear(1).Keyed(7)) {
		b = b.Plus(time.Second)
		for _, n := range []int{0, -1, math.MinInt} {
			if a, d, c, l := b.At(n, 0.5), b.Delay(n), b.After(n, time.Second, 0.5), b.Ceiling(n); a+d+c+l != 0 {
				t.Errorf("%v: At, Delay, After, Ceiling of %d are %v, %v, %v, %v, want 0", b, n, a, d, c, l)
			}
		}
	}
	if called {
		t.Error("a Func was asked for a retry that is none")
	}
}

func TestWholeNumbersAreExact(t *testing.T) {
	most := big.NewInt(math.MaxInt64)
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "d"))
		n := rapid.OneOf(rapid.IntRange(1, 200), rapid.IntRange(1, math.MaxInt)).Draw(t, "n")
		x := rapid.Int64Range(0, 12).Draw(t, "x")
		bn, bd, bx := big.NewInt(int64(n)), big.NewInt(int64(d)), big.NewInt(x)
		power := func(a, e *big.Int) *big.Int { // saturates, so that it ends
			if a.Cmp(big.NewInt(1)) > 0 && e.Cmp(big.NewInt(64)) > 0 {
				e = big.NewInt(64)
			}
			return new(big.Int).Exp(a, e, nil)
		}
		fib, next := big.NewInt(0), big.NewInt(1)
		for i := 0; i < min(n, 100); i++ {
			fib, next = next, fib.Add(fib, next)
		}
		for _, c := range []struct {
			b     backoff.Backoff
			times *big.Int
		}{
			{backoff.Constant(d), big.NewInt(1)},
			{backoff.Linear(d), bn},
			{backoff.Quadratic(d), power(bn, big.NewInt(2))},
			{backoff.Polynomial(d, float64(x)), power(bn, bx)},
			{backoff.Exponential(d, float64(x)), power(bx, big.NewInt(int64(n-1)))},
			{backoff.Fibonacci(d), fib},
		} {
			want := c.times.Mul(c.times, bd)
			if want.Cmp(most) > 0 {
				want = most
			}
			if got := c.b.At(n, 0.5); int64(got) != want.Int64() {
				t.Fatalf("(%v).At(%d) = %d, want %d", c.b, n, got, want)
			}
		}
	})
}

func TestCurvesAreExactUpToTheEndOfTheRange(t *testing.T) {
	tests := []struct {
		b    backoff.Backoff
		n    int64
		want time.Duration
	}{
		{backoff.Exponential(1, 2), 63, 1 << 62},
		{backoff.Exponential(1, 2), 64, longest},
		{backoff.Exponential(3, 2), 62, 3 << 61},
		{backoff.Exponential(3, 2), 63, longest},
		{backoff.Exponential(1, 2), 65, longest},
		{backoff.Exponential(1, 3), 40, 4052555153018976267},
		{backoff.Exponential(1, 3), 41, longest},
		{backoff.Quadratic(1), 3037000499, 9223372030926249001},
		{backoff.Quadratic(1), 3037000500, longest},
		{backoff.Polynomial(1, 3), 2097151, 9223358842721533951},
		{backoff.Polynomial(1, 3), 2097152, longest},
		{backoff.Fibonacci(1), 92, 7540113804746346429},
		{backoff.Fibonacci(1), 93, longest},
		{backoff.Linear(1), math.MaxInt64, longest},
		{backoff.Linear(3), math.MaxInt64 / 3, longest - longest%3},
		{backoff.Constant(longest - 1).Plus(1), 1, longest},
		{backoff.Sidekiq().Plus(1), 310, 9116621361*time.Second + 15*time.Second + 1},
	}
	for _, tt := range tests {
		if tt.n > math.MaxInt {
			continue // not on this machine
		}
		if got := tt.b.At(int(tt.n), 0); got != tt.want {
			t.Errorf("(%v).At(%d, 0) = %d, want %d", tt.b, tt.n, got, tt.want)
		}
	}
}

func TestFractionsAreRightToTheNearestNanosecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "d"))
		n := rapid.IntRange(1, 60).Draw(t, "n")
		factor := rapid.Float64Range(0, 4).Draw(t, "factor")
		exp, pow := bigOf(float64(d)), bigOf(float64(d))
		for range n - 1 {
			exp.Mul(exp, bigOf(factor))
		}
		whole := rapid.IntRange(0, 6).Draw(t, "whole")
		for range whole {
			pow.Mul(pow, bigOf(float64(n)))
		}
		pow.Mul(pow, new(big.Float).Sqrt(bigOf(float64(n))))
		near(t, backoff.Exponential(d, factor).At(n, 0), exp, n, 0.5)
		near(t, backoff.Polynomial(d, float64(whole)+0.5).At(n, 0), pow, n, 0.5)
		degree := rapid.Float64Range(0, 6).Draw(t, "degree")
		near(t, backoff.Polynomial(d, degree).At(n, 0), bigOf(float64(d)*math.Pow(float64(n), degree)), 100, 0.5)
	})
}

// bigOf is x with precision to spare.
func bigOf(x float64) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(x) }

// near fails unless got is within ns of want, or within the error that rounds
// roundings to 53 bits make; past the range it must be the largest.
func near(t interface{ Fatalf(string, ...any) }, got time.Duration, want *big.Float, rounds int, ns float64) {
	w, _ := want.Float64()
	if w > math.MaxInt64 {
		w = math.MaxInt64
	}
	off, _ := new(big.Float).Sub(bigOf(w), new(big.Float).SetInt64(int64(got))).Float64()
	if math.Abs(off) > ns+1e-6+w*float64(rounds)/(1<<52) {
		t.Fatalf("got %d, want %s, which is %g off", got, want.Text('f', 3), off)
	}
}

func TestCurvesSaturateAtTheLargestDuration(t *testing.T) {
	if strconv.IntSize == 32 {
		t.Skip("no int is large enough to get there")
	}
	for _, b := range []backoff.Backoff{
		backoff.Linear(time.Second), backoff.Linear(2), backoff.Quadratic(1), backoff.Polynomial(1, 1.5), backoff.Polynomial(1, 1e300),
		backoff.Polynomial(2, 1.7), backoff.Exponential(1, 2), backoff.Exponential(1, 3), backoff.Exponential(1, 1.0001),
		backoff.Exponential(1, math.MaxFloat64), backoff.Fibonacci(1), backoff.Sidekiq(), backoff.Buckets(1, 2),
		backoff.Buckets(2, 1.5), backoff.Buckets(1, 1e300), backoff.Linear(time.Second).Tiled(), backoff.Constant(longest).Plus(1),
		backoff.Sidekiq().Plus(longest), backoff.Table(longest - 1).Plus(2),
		backoff.Func(func(int, float64) time.Duration { return longest }).Plus(longest),
	} {
		for _, u := range []float64{0, 0.5, below1} {
			if got := b.At(math.MaxInt, u); got != longest {
				t.Errorf("(%v).At(MaxInt, %v) = %d, want the largest Duration", b, u, got)
			}
			most := b.Cap(time.Minute)
			if got := most.At(math.MaxInt, u); got > time.Minute || got < time.Minute-1 {
				t.Errorf("(%v).At(MaxInt, %v) = %v, want 1m", most, u, got)
			}
		}
		if got := b.Ceiling(math.MaxInt); got != longest {
			t.Errorf("(%v).Ceiling(MaxInt) = %v, want the largest Duration", b, got)
		}
	}
	if got := backoff.Exponential(time.Hour, 0.5).At(math.MaxInt, 0); got != 0 {
		t.Errorf("half each time ends at %v, want 0", got)
	}
	for _, b := range []backoff.Backoff{
		backoff.Linear(0), backoff.Quadratic(0), backoff.Polynomial(0, 1e300), backoff.Polynomial(0, 0.5), backoff.Exponential(0, 2),
		backoff.Exponential(0, math.MaxFloat64), backoff.Fibonacci(0), backoff.Buckets(0, 1e300), backoff.Decorrelated(0),
	} {
		for _, n := range []int{1, 2, 3, 100, math.MaxInt} {
			if at, ceiling := b.At(n, 0.9), b.Ceiling(n); at != 0 || ceiling != 0 {
				t.Errorf("%v: At(%d) and Ceiling are %v and %v, want 0: nothing times anything", b, n, at, ceiling)
			}
		}
	}
}

func TestWrongArgumentPanicsWithItsName(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		want string
		f    func()
	}{
		{"backoff: Constant: d is -1s, want at least 0", func() { backoff.Constant(-time.Second) }},
		{"backoff: Linear: d is -1s, want at least 0", func() { backoff.Linear(-time.Second) }},
		{"backoff: Quadratic: d is -1ns, want at least 0", func() { backoff.Quadratic(-1) }},
		{"backoff: Polynomial: d is -1ns, want at least 0", func() { backoff.Polynomial(-1, 2) }},
		{"backoff: Polynomial: degree is NaN, want a finite number >= 0", func() { backoff.Polynomial(1, nan) }},
		{"backoff: Polynomial: degree is -2, want a finite number >= 0", func() { backoff.Polynomial(1, -2) }},
		{"backoff: Exponential: base is -1ns, want at least 0", func() { backoff.Exponential(-1, 2) }},
		{"backoff: Exponential: factor is NaN, want a finite number >= 0", func() { backoff.Exponential(1, nan) }},
		{"backoff: Exponential: factor is +Inf, want a finite number >= 0", func() { backoff.Exponential(1, inf) }},
		{"backoff: Exponential: factor is -Inf, want a finite number >= 0", func() { backoff.Exponential(1, -inf) }},
		{"backoff: Fibonacci: d is -1ns, want at least 0", func() { backoff.Fibonacci(-1) }},
		{"backoff: Table: delays is empty, want at least one", func() { backoff.Table() }},
		{"backoff: Table: delays[1] is -5ns, want at least 0", func() { backoff.Table(1, -5) }},
		{"backoff: Buckets: unit is -1ns, want at least 0", func() { backoff.Buckets(-1, 2) }},
		{"backoff: Buckets: exponent is +Inf, want a finite number >= 0", func() { backoff.Buckets(1, inf) }},
		{"backoff: Decorrelated: base is -1ns, want at least 0", func() { backoff.Decorrelated(-1) }},
		{"backoff: Func: f is nil", func() { backoff.Func(nil) }},
		{"backoff: Cap: most is -1ns, want at least 0", func() { backoff.Default.Cap(-1) }},
		{"backoff: Plus: d is -1ns, want at least 0", func() { backoff.Default.Plus(-1) }},
	}
	for _, tt := range tests {
		check.Panics(t, tt.want, tt.f)
	}
}

func TestTableKeepsACopy(t *testing.T) {
	delays := []time.Duration{time.Second, time.Minute}
	b := backoff.Table(delays...)
	delays[0] = time.Hour
	if got := b.Delay(1); got != time.Second {
		t.Errorf("after the caller changed its slice the first delay is %v, want 1s", got)
	}
}

func TestFuncIsGivenTheDraw(t *testing.T) {
	b := backoff.Func(func(n int, u float64) time.Duration { return time.Duration(1000*n) + time.Duration(100*u) })
	for _, tt := range []struct {
		u    float64
		want time.Duration
	}{{0, 3000}, {0.25, 3025}, {-1, 3000}, {math.NaN(), 3000}, {7, 3099}, {math.Inf(1), 3099}} {
		if got := b.At(3, tt.u); got != tt.want {
			t.Errorf("At(3, %v) = %d, want %d", tt.u, got, tt.want)
		}
	}
	if got := b.Ceiling(3); got != 3099 {
		t.Errorf("Ceiling(3) = %d, want 3099, the top of its range", got)
	}
	if got := b.Jitter(halfOf{}).Cap(1000).At(3, 0.5); got != 500 {
		t.Errorf("capped and halved, At(3, 0.5) = %d, want 500", got)
	}
}

// halfOf always halves.
type halfOf struct{}

func (halfOf) Factor(float64) float64 { return 0.5 }

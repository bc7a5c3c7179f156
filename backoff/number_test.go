package backoff

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// product is d·f rounded to the nearest whole number, halves up, at most the
// largest Duration.
func product(d time.Duration, f float64) time.Duration {
	x := new(big.Rat).SetFloat64(f)
	x.Mul(x, new(big.Rat).SetInt64(int64(d))).Add(x, big.NewRat(1, 2))
	n := new(big.Int).Quo(x.Num(), x.Denom())
	if !n.IsInt64() {
		return math.MaxInt64
	}
	return time.Duration(n.Int64())
}

func TestMultiplyIsExactForLongDurations(t *testing.T) {
	for _, d := range []time.Duration{1 << 53, 1<<53 + 1, 1<<62 - 1, 1 << 62, 1<<62 + 1, math.MaxInt64 - 1, math.MaxInt64} {
		for _, f := range []float64{
			0, math.SmallestNonzeroFloat64, 1e-300, 1 - 1.0/(1<<53), 1, 1 + 1.0/(1<<52), 1.5, 2, 3, 1023, 1024, 1e300, math.Pi,
		} {
			if got, want := multiply(d, f), product(d, f); got != want {
				t.Errorf("%d times %v is %d, want %d", d, f, got, want)
			}
		}
		for e := -70; e <= 11; e++ {
			for _, m := range []float64{1, 1.1, 1.5, 2 - 1.0/(1<<52)} {
				if got, want := multiply(d, math.Ldexp(m, e)), product(d, math.Ldexp(m, e)); got != want {
					t.Errorf("%d times %v·2^%d is %d, want %d", d, m, e, got, want)
				}
			}
		}
	}
	if got := multiply(1<<53, math.Inf(1)); got != math.MaxInt64 {
		t.Errorf("times Inf is %d", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1<<53, math.MaxInt64).Draw(t, "d"))
		f := math.Ldexp(rapid.Float64Range(0.5, 1).Draw(t, "m"), rapid.IntRange(-66, 12).Draw(t, "e"))
		if got, want := multiply(d, f), product(d, f); got != want {
			t.Fatalf("%d times %v is %d, want %d", d, f, got, want)
		}
	})
}

func TestScaleNeverFallsAndKeepsItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "d"))
		f := rapid.OneOf(rapid.Float64Range(0, 1.5), rapid.Float64Range(0.999999, 1.000001), rapid.Float64Min(0)).Draw(t, "f")
		g := rapid.OneOf(rapid.Just(math.Nextafter(f, math.Inf(1))), rapid.Float64Min(f)).Draw(t, "g")
		low, high := scale(d, f), scale(d, g)
		if low > high || low < 0 {
			t.Fatalf("%d times %v is %d, and times %v it is %d", d, f, low, g, high)
		}
		if d > 0 && f < 1 && low >= d || f >= 1 && low < d {
			t.Fatalf("%d times %v is %d", d, f, low)
		}
	})
}

func TestPowers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := rapid.OneOf(rapid.Uint64Range(0, 20), rapid.Uint64()).Draw(t, "x")
		k := rapid.Uint64Range(0, 80).Draw(t, "k")
		want := new(big.Int).Exp(new(big.Int).SetUint64(x), new(big.Int).SetUint64(k), nil)
		if !want.IsInt64() {
			want.SetInt64(math.MaxInt64)
		}
		if got := power(x, k); k == 1 && x > math.MaxInt64 && got != math.MaxInt64 || got != want.Uint64() {
			t.Fatalf("%d^%d is %d, want %d", x, k, got, want)
		}
		f := rapid.Float64Range(0, 8).Draw(t, "f")
		got, near := powerFloat(f, k), math.Pow(f, float64(k))
		if math.Abs(got-near) > near*float64(k+1)/(1<<52) {
			t.Fatalf("%v^%d is %v, want %v", f, k, got, near)
		}
	})
	for _, x := range []uint64{2, 3, math.MaxUint64} {
		if got := power(x, math.MaxUint64); got != math.MaxInt64 {
			t.Errorf("%d^MaxUint64 is %d, want the largest int64", x, got)
		}
	}
	if power(1, math.MaxUint64) != 1 || power(0, math.MaxUint64) != 0 || power(0, 0) != 1 {
		t.Error("powers of 0 and 1 are wrong")
	}
}

package backoff

import (
	"math"
	"math/big"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// A float64 has 53 bits: the product of two is wrong in its last two at most, and by half a nanosecond.
func TestMultiplyIsTheNearestToFifteenDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.OneOf(rapid.Int64Range(0, 1e12), rapid.Int64Range(0, math.MaxInt64)).Draw(t, "d"))
		f := math.Ldexp(rapid.Float64Range(0, 1).Draw(t, "m"), rapid.IntRange(-66, 12).Draw(t, "e"))
		x := new(big.Float).Mul(big.NewFloat(f).SetPrec(200), new(big.Float).SetPrec(200).SetInt64(int64(d)))
		want, _ := x.Float64()
		want = min(want, math.MaxInt64)
		if got := float64(multiply(d, f)); math.Abs(got-want) > 0.5+want/(1<<51) {
			t.Fatalf("%d times %v is %v, want %v", d, f, got, want)
		}
	})
	for _, c := range []struct {
		d    time.Duration
		f    float64
		want time.Duration
	}{
		{3, 0.5, 2}, {3, 0.49, 1}, {7, 0, 0}, {0, math.Inf(1), 0}, {1, math.Inf(1), math.MaxInt64}, {math.MaxInt64, 1, math.MaxInt64},
		{1<<52 - 1, 1, 1<<52 - 1}, {1<<52 + 1, 1, 1<<52 + 1}, {1<<53 - 1, 1, 1<<53 - 1}, {1 << 62, 2, math.MaxInt64}, {1 << 61, 2, 1 << 62},
		{1<<53 - 1, 0.5, 1 << 52},
	} {
		if got := multiply(c.d, c.f); got != c.want {
			t.Errorf("%d times %v is %d, want %d", c.d, c.f, got, c.want)
		}
	}
}

func TestScaleIsLessForAFactorBelowOne(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		f    float64
		want time.Duration
	}{
		{0, 0.5, 0}, {0, 2, 0}, {1, 0.9, 0}, {1, 0.4, 0}, {2, 0.9, 1}, {1, 1, 1}, {3, 1.2, 4}, {math.MaxInt64, below1, math.MaxInt64 - 1023},
		{math.MaxInt64 - 1, 1, math.MaxInt64}, {1<<62 + 1, 1, 1<<62 + 1}, {1<<62 - 1, below1, 1<<62 - 512}, {math.MaxInt64, math.Inf(1), math.MaxInt64},
	} {
		if got := scale(c.d, c.f); got != c.want {
			t.Errorf("%d times %v is %d, want %d", c.d, c.f, got, c.want)
		}
	}
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

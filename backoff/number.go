package backoff

import (
	"math"
	"math/bits"
	"time"
)

// below1 is the largest draw: the largest number below 1.
const below1 = 1 - 1.0/(1<<53)

// draw maps any u to a draw in [0,1).
func draw(u float64) float64 {
	if u > 0 {
		return min(u, below1)
	}
	return 0 // NaN too
}

// mix is the output function of splitmix64 (Steele, Lea and Flood, 2014, with Stafford's constants): every bit of x
// affects every bit of the result.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xBF58476D1CE4E5B9
	x = (x ^ x>>27) * 0x94D049BB133111EB
	return x ^ x>>31
}

// add is a+b, both not negative, at most the largest Duration.
func add(a, b time.Duration) time.Duration {
	if c := a + b; c >= 0 {
		return c
	}
	return math.MaxInt64
}

// times is d·k, at most the largest Duration.
func times(d time.Duration, k uint64) time.Duration {
	hi, lo := bits.Mul64(uint64(d), k)
	if hi != 0 || lo > math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(lo)
}

// power is x^k in whole numbers, by squaring, at most the largest int64.
func power(x, k uint64) uint64 {
	p := uint64(1)
	for ; k > 0; k >>= 1 {
		if k&1 != 0 {
			p = uint64(times(time.Duration(p), x))
		}
		x = uint64(times(time.Duration(x), x))
	}
	return p
}

// whole returns x as a whole number, if it is one.
func whole(x float64) (uint64, bool) {
	if x >= 1<<53 {
		return 0, false
	}
	k := uint64(x)
	return k, float64(k) == x
}

// scale is multiply, but less than d for f < 1, unless d is 0, and at least d for f >= 1. d and f are not negative, f
// may be +Inf.
func scale(d time.Duration, f float64) time.Duration {
	r := multiply(d, f)
	if f < 1 {
		return max(0, min(r, d-1))
	}
	return max(r, d)
}

// multiply is d·f to the nearest nanosecond or 15 digits, at most the largest Duration.
func multiply(d time.Duration, f float64) time.Duration {
	x := float64(d) * f
	switch {
	case d == 0:
		return 0 // 0·Inf too
	case x < 1<<52:
		return time.Duration(x + 0.5)
	case x < 1<<63:
		return time.Duration(x)
	}
	return math.MaxInt64
}

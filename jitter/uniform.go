package jitter

import (
	"fmt"
	"math"
)

// uniform is evenly distributed between lo and hi.
type uniform struct{ lo, hi float64 }

// Uniform returns a Jitter whose factors are evenly distributed in [lo, hi): Factor(u) = lo + u·(hi-lo).
// Uniform(0.5, 1.5) is the jitter of Peter Teichman, "Simple backoff" (Gopher Academy Advent 2014). Uniform panics
// unless both are finite and 0 <= lo <= hi.
func Uniform(lo, hi float64) Jitter {
	if why := uniformWrong(lo, hi); why != "" {
		panic("jitter: Uniform: " + why)
	}
	return uniform{lo + 0, hi + 0} // + 0 makes a negative zero 0
}

// uniformWrong returns what is wrong with Uniform's arguments, or "".
func uniformWrong(lo, hi float64) string {
	switch {
	case !finite(lo) || lo < 0:
		return fmt.Sprintf("lo is %v, want a finite number >= 0", lo)
	case !finite(hi) || hi < 0:
		return fmt.Sprintf("hi is %v, want a finite number >= 0", hi)
	case hi < lo:
		return fmt.Sprintf("lo is %v and hi is %v, want lo <= hi", lo, hi)
	}
	return ""
}

// Factor returns lo + u·(hi-lo): exactly lo at 0, exactly hi at 1, and less than hi for any draw, although the sum may
// round up to it.
func (j uniform) Factor(u float64) float64 {
	if u >= 1 {
		return j.hi
	}
	if !(u > 0) {
		return j.lo
	}
	f := j.lo + float64(u*(j.hi-j.lo))
	if f >= j.hi && j.lo < j.hi {
		return math.Nextafter(j.hi, 0)
	}
	return f
}

// deviation is evenly distributed around 1, p either way.
type deviation struct{ p float64 }

// Deviation returns a Jitter whose factors are evenly distributed between 1-p and 1+p: Factor(u) = 1 + p·(2u-1).
// Deviation(0) is None. Deviation panics unless 0 <= p <= 1.
func Deviation(p float64) Jitter {
	if why := deviationWrong(p); why != "" {
		panic("jitter: Deviation: " + why)
	}
	if p == 0 {
		return uniform{1, 1}
	}
	return deviation{p}
}

// deviationWrong returns what is wrong with Deviation's argument, or "".
func deviationWrong(p float64) string {
	if p >= 0 && p <= 1 {
		return ""
	}
	return fmt.Sprintf("p is %v, want 0 <= p <= 1", p)
}

// Factor returns 1 + p·(2u-1), exactly 1-p at 0 and exactly 1+p at 1.
func (j deviation) Factor(u float64) float64 {
	if u >= 1 {
		return 1 + j.p
	}
	if !(u > 0) {
		return 1 - j.p
	}
	return 1 + float64(j.p*(2*u-1))
}

func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

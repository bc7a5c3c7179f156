package backoff

import (
	"math"
	"time"
)

// Decorrelated returns the Backoff that draws each delay evenly between base
// and three times the delay before it, the decorrelated jitter of Marc Brooker,
// "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015; its code draws
// from base, its text from 0: this follows the code). It is random by itself.
// Decorrelated panics if base is negative.
//
// It is a chain: a delay depends on the delay before it. After is one step of
// it, given that delay:
//
//	After(n, prev, u) = min(cap, base + u·(3·prev - base))
//
// where a prev of 0 or less counts as base, and 3·prev as at least base. Plus and a
// jitter apply to each step, so that prev has them in it.
//
// Delay and At need no prev. They sample the n-th delay of a chain that began
// with base, with exactly the distribution that n steps of After give it: the
// step draws are u itself and what a splitmix64 generator seeded with u gives
// after it. One u is one chain: At(1,u), At(2,u), At(3,u) … are its delays, and
// so Keyed and Ordinal fix a whole chain. The cost grows with n, at some ten ns a step, up
// to where the chain has forgotten its beginning (some hundred steps); from
// there on it is the same for any n.
func Decorrelated(base time.Duration) Backoff {
	notNegative("Decorrelated", "base", base)
	return Backoff{kind: decorrelated, d: base}
}

// after is After.
func (b *Backoff) after(n int, prev time.Duration, u float64) time.Duration {
	if b.place != drawn {
		u = newDraws(b.placed(0)).at(n)
	}
	return b.step(prev, u)
}

// step is one step of the chain.
func (b *Backoff) step(prev time.Duration, u float64) time.Duration {
	if prev <= 0 {
		prev = b.d
	}
	hi := max(b.d, times(prev, 3))
	return b.finish(add(add(b.d, scale(hi-b.d, u)), b.plus), u)
}

// direct is how many steps are taken from the chain's beginning, rather than
// from where two chains have met; it must be a power of 2.
const direct = 64

// chain is the n-th delay of the chain of u.
//
// A step is monotone in the delay before it, and the chain's delays lie between
// 1 ns (a delay of 0 counts as base) and the cap. So for a large n two chains
// are run side by side over the last steps only, from the lowest and the
// highest delay there is: where they have met, every chain has, the one from
// the beginning too, and the result is exact (Propp and Wilson's coupling from
// the past). Where they have not, they are begun further back.
func (b *Backoff) chain(n int, u float64) time.Duration {
	if b.d == 0 && b.plus == 0 {
		return 0
	}
	v := newDraws(u)
	for back := direct; back < n && back <= 1<<16; back *= 2 {
		lo, hi := time.Duration(1), b.cap()
		for i := n - back + 1; ; i++ {
			w := v.at(i)
			lo, hi = b.step(lo, w), b.step(hi, w)
			if lo == hi {
				return b.steps(lo, i+1, n, v)
			}
			if i == n { // not n+1, which may not be an int
				break
			}
		}
	}
	// Only chains shorter than 64 come here, and those that 65,536 steps do not
	// bring together; what such a one was at its beginning is all one.
	return b.steps(b.d, max(1, n-1<<16), n, v)
}

// steps goes on from the delay d with the steps from i to n.
func (b *Backoff) steps(d time.Duration, i, n int, v draws) time.Duration {
	for left := n - i; left >= 0; left-- {
		d = b.step(d, v.at(n-left))
	}
	return d
}

// chainTop is the largest delay that the n-th step of a chain without the jitter may give.
func (b *Backoff) chainTop(n int) time.Duration {
	d, most := b.d, b.cap()
	for i := range n {
		next := min(add(times(max(d, b.d), 3), b.plus), most)
		if next == d && i > 0 {
			break
		}
		d = next
	}
	return d
}

// draws is a sequence of independent draws that begins with the one it is made of.
type draws struct {
	first float64
	seed  uint64
}

func newDraws(u float64) draws { return draws{u, mix(math.Float64bits(u) + golden)} }

// at is the i-th draw, i from 1.
func (v draws) at(i int) float64 {
	if i == 1 {
		return v.first
	}
	return unit(mix(v.seed + uint64(i)*golden))
}

package backoff

import (
	"math"
	"time"
)

// Decorrelated returns the Backoff that draws each delay evenly between base and three times the delay before it. It is
// the decorrelated jitter of Marc Brooker, "Exponential Backoff And Jitter" (AWS Architecture Blog, 2015). The
// article's code draws from base and its text from 0; Decorrelated draws from base. It is random by itself.
//
// It is a chain: each delay depends on the delay before it. After computes one step from that delay:
//
//	After(n, prev, u) = min(cap, base + u·(3·prev - base))
//
// where a prev of 0 or less counts as base, and 3·prev as at least base. Plus and a jitter apply to each step, so prev
// includes them.
//
// Delay and At need no prev. They return the n-th delay of a chain that began with base, with exactly the distribution
// that n steps of After have. The draws of the steps are u itself and the next outputs of a splitmix64 generator seeded
// with u. One u is one chain: At(1,u), At(2,u), At(3,u) … are its delays, so Keyed and Ordinal fix a whole chain. The
// cost grows with n, by about ten ns a step, up to 4,096 steps. After that many steps the beginning of a chain has no
// effect.
func Decorrelated(base time.Duration) Backoff { return decorrelated.of(base) }

// step is one step of the chain.
func (b *Backoff) step(prev time.Duration, u float64) time.Duration {
	if prev <= 0 {
		prev = b.d
	}
	hi := max(b.d, times(prev, 3))
	return b.finish(add(add(b.d, scale(hi-b.d, u)), b.plus), u)
}

// memory is the maximum number of steps that the chain of At goes back. From 1 ns to the largest Duration a chain takes
// about 450 steps on average, since a step multiplies by 3u and E[ln 3u] = 0.099. After memory steps, the beginning of
// the chain makes no difference (10^-8).
const memory = 4096

// chain is the n-th delay of the chain of u.
func (b *Backoff) chain(n int, u float64) time.Duration {
	d := b.d
	for left := min(n, memory) - 1; left >= 0; left-- {
		d = b.step(d, drawAt(u, n-left))
	}
	return d
}

// chainTop is the largest delay that the n-th step of a chain without the jitter can have.
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

// drawAt is the i-th, i from 1, of the independent draws of which u is the first.
func drawAt(u float64, i int) float64 {
	if i == 1 {
		return u
	}
	seed := mix(math.Float64bits(u) + golden)
	return unit(mix(seed + uint64(i)*golden))
}

package backoff

import (
	"math"
	"reflect"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
)

// Cap returns a Backoff whose delays never exceed most, jitter included. See At for how cap and jitter work together.
// Sidekiq and Buckets, which are random by themselves, are scaled down as a whole where their range would exceed the
// cap, so they still spread there. The largest Duration means no cap.
func (b Backoff) Cap(most time.Duration) Backoff {
	notNegative("Cap", "most", most)
	b.below = math.MaxInt64 - most
	return b
}

// Jitter returns a Backoff whose delays are multiplied by j's factor. See At for how cap and jitter work together. On a
// curve that is random by itself, the same u draws the curve and the factor, so the delay varies more. jitter.None
// removes a jitter.
//
// A negative or NaN factor counts as 0, and one above Factor(1) as Factor(1). Jitter panics if j is nil, if Factor(0)
// or Factor(1) is negative or not finite, and if the Backoff is tiled: see Tiled.
func (b Backoff) Jitter(j jitter.Jitter) Backoff {
	if f, ok := j.(jitter.Func); j == nil || ok && f == nil {
		panic("backoff: Jitter: j is nil")
	}
	if j == jitter.None {
		b.j, b.top = nil, 0
		return b
	}
	top := number("Jitter", "j.Factor(1)", j.Factor(1))
	number("Jitter", "j.Factor(0)", j.Factor(0))
	if !reflect.ValueOf(j).Comparable() {
		j = &incomparable{j}
	}
	b.j, b.top = j, top
	if why := b.tiledWrong(); why != "" {
		panic("backoff: Jitter: j is " + jitterText(b.j) + ": " + why)
	}
	return b
}

// incomparable hides, behind a pointer, a Jitter that would make == on a Backoff panic.
type incomparable struct{ jitter.Jitter }

// cap is the cap, the largest Duration if there is none.
func (b *Backoff) cap() time.Duration { return math.MaxInt64 - b.below }

// limit returns the largest curve that is not at the cap: the jitter scales any larger one.
func (b *Backoff) limit() time.Duration {
	if b.below > 0 && b.top > 1 {
		return time.Duration(float64(b.cap()) / b.top)
	}
	return b.cap()
}

// factor is j's factor, limited to the range from 0 to its bound.
func (b *Backoff) factor(u float64) float64 {
	if b.j == nil {
		return 1
	}
	f := b.j.Factor(u)
	if !(f > 0) {
		return 0
	}
	return min(f, b.top)
}

// finish returns the delay for c, the curve plus Plus.
func (b *Backoff) finish(c time.Duration, u float64) time.Duration {
	if b.j == nil {
		return min(c, b.cap())
	}
	f := b.factor(u)
	if c > b.limit() {
		return b.atCap(f)
	}
	return min(scale(c, f), b.cap())
}

// atCap is the delay for the factor f if the curve exceeds the cap.
func (b *Backoff) atCap(f float64) time.Duration {
	// cap·(f/top), not (cap/top)·f: a whole number of nanoseconds cannot hold cap/top where top is huge.
	return min(scale(b.cap(), f/max(1, b.top)), b.cap())
}

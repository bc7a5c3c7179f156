package backoff

import (
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
)

// Cap returns a Backoff whose delays never pass most, jitter included. See At
// for how cap and jitter go together. Sidekiq and Buckets, random by
// themselves, are scaled down as a whole where their range would pass the cap,
// so that they spread there too. The largest Duration is no cap. Cap panics if
// most is negative.
func (b Backoff) Cap(most time.Duration) Backoff {
	notNegative("Cap", "most", most)
	b.below = math.MaxInt64 - most
	b.fit()
	return b
}

// Jitter returns a Backoff whose delays are multiplied by j's factor. See At
// for how cap and jitter go together. On a curve that is random by itself one
// u draws both, so that the delay spreads the wider. jitter.None takes a
// jitter away.
//
// Factor is taken for 0 where it is negative or NaN, and for Factor(1) where it
// is more than that. Jitter panics if j is nil, if Factor(0) or Factor(1) is
// not finite or is negative, and if the Backoff is tiled: see Tiled.
func (b Backoff) Jitter(j jitter.Jitter) Backoff {
	if f, ok := j.(jitter.Func); j == nil || ok && f == nil {
		panic("backoff: Jitter: j is nil")
	}
	b.line, b.low = noLine, 0
	if j == jitter.None {
		b.j, b.top = nil, 0
		b.fit()
		return b
	}
	lowest, top := j.Factor(0), j.Factor(1)
	if !finite(top) || top < 0 {
		panic(fmt.Sprintf("backoff: Jitter: j.Factor(1) is %v, want a finite number >= 0", top))
	}
	if !finite(lowest) || lowest < 0 {
		panic(fmt.Sprintf("backoff: Jitter: j.Factor(0) is %v, want a finite number >= 0", lowest))
	}
	if j, ok := j.(interface{ Line() (float64, bool) }); ok {
		var around bool
		if b.low, around = j.Line(); around {
			b.line = around1
		} else {
			b.line = fromLow
		}
	}
	if !reflect.ValueOf(j).Comparable() {
		j = &incomparable{j}
	}
	b.j, b.top = j, top
	b.fit()
	if why := b.tiledWrong(); why != "" {
		panic("backoff: Jitter: j is " + jitterText(b.j) + ": " + why)
	}
	return b
}

// line says how finish works out the factor of a jitter of package jitter by
// itself, which spares Delay a call through an interface.
type line uint8

const (
	noLine  line = iota // by asking it
	fromLow             // low + u·(top-low)
	around1             // 1 + low·(2u-1)
)

// incomparable hides a Jitter that would make == on a Backoff panic behind a pointer.
type incomparable struct{ jitter.Jitter }

// cap is the cap, the largest Duration if there is none.
func (b *Backoff) cap() time.Duration { return math.MaxInt64 - b.below }

// fit works out limit, after cap or jitter have changed.
func (b *Backoff) fit() {
	b.limit = 0
	if b.j == nil {
		return
	}
	b.limit = b.cap()
	if b.below > 0 && b.top > 1 {
		b.limit = time.Duration(float64(b.limit) / b.top)
	}
}

// factor is j's factor, kept between 0 and its bound whatever j says.
func (b *Backoff) factor(u float64) float64 {
	f := b.j.Factor(u)
	if !(f > 0) {
		return 0
	}
	return min(f, b.top)
}

// finish makes the delay of c, which is the curve and Plus.
func (b *Backoff) finish(c time.Duration, u float64) time.Duration {
	if b.j == nil {
		return min(c, b.cap())
	}
	var f float64
	switch b.line {
	case fromLow:
		f = b.low + float64(u*(b.top-b.low))
		if f >= b.top {
			f = b.factor(u) // which knows how to stay below
		}
	case around1:
		f = 1 + float64(b.low*(2*u-1))
	default:
		f = b.factor(u)
	}
	if c > b.limit {
		return b.atCap(f)
	}
	// As scale, which is too large to be inlined.
	if x := float64(c) * f; x < 1<<52 && c < 1<<53 {
		if r := time.Duration(x + 0.5); r != c {
			return min(r, b.cap())
		}
	}
	return min(scale(c, f), b.cap())
}

// atCap is the delay for the factor f of a curve that the cap cuts.
func (b *Backoff) atCap(f float64) time.Duration {
	// cap·(f/top), not (cap/top)·f: a whole number of nanoseconds cannot hold
	// cap/top where top is huge.
	return min(scale(b.cap(), f/max(1, b.top)), b.cap())
}

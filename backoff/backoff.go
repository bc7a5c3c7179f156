package backoff

import (
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
)

// Backoff maps the number of consecutive failures (1 before the first retry) to a delay. It is a plain value: it keeps
// no state and is safe for concurrent use. Its methods that set something return a changed copy. Each method sets one
// thing, in any order, and a second call replaces what the first one set.
//
// The zero Backoff never waits; it equals Constant(0). Backoffs can be compared with ==: they are equal if they have
// equal curves and settings. A Backoff with a Func, or with a Jitter of a type that is not comparable, equals only its
// own copies.
type Backoff struct {
	kind   kind
	tiled  bool
	source source        // of u
	d      time.Duration // the curve's duration: d, base or unit
	x      float64       // the curve's number: factor, degree or exponent
	table  table
	fn     *curveFunc // a pointer keeps Backoff comparable
	plus   time.Duration
	below  time.Duration // the largest Duration minus the cap; 0 is no cap
	j      jitter.Jitter // nil if there is none
	top    float64       // j.Factor(1)
	key    uint64        // used by source
}

// Default is the table of Peter Teichman's "Simple backoff": 10, 10, 100, 100, 500, 500, 3000, 3000 and then always
// 5000 ms, each varied by up to ±50 %. Delay(0) is 0, so a loop may call Delay before its first attempt too.
var Default = Table(
	10*time.Millisecond, 10*time.Millisecond,
	100*time.Millisecond, 100*time.Millisecond,
	500*time.Millisecond, 500*time.Millisecond,
	3000*time.Millisecond, 3000*time.Millisecond,
	5000*time.Millisecond,
).Jitter(jitter.Deviation(0.5))

// Delay returns the delay before the n-th retry, 0 for n <= 0. It draws u from the global source of math/rand/v2, or
// uses the u of Keyed or Ordinal, and returns At(n, u).
//
// Each call draws again. An operation under Tiled must keep one u: set it with Ordinal or Keyed, or use package retry,
// whose policies draw it once.
func (b Backoff) Delay(n int) time.Duration {
	var u float64
	if b.IsRandom() {
		u = rand.Float64()
	}
	return b.at(n, u)
}

// At returns the delay before the n-th retry for the draw u. It is pure: equal arguments give equal delays. Without a
// jitter it returns
//
//	min(curve(n)+plus, cap)
//
// and with a Jitter, in whatever order the methods were called,
//
//	min(curve(n)+plus, cap/max(1, Factor(1))) · Factor(u)
//
// So no delay exceeds the cap, delays still spread at the cap, and below the cap nothing is rescaled. Without a cap, a
// delay beyond the range of time.Duration is the largest Duration. For n <= 0 the delay is 0. It is never negative.
//
// The draw u is in [0,1). A smaller u and NaN count as 0, a larger u as the largest number below 1. Keyed and Ordinal
// replace u. A larger u never gives a smaller delay, except with Decorrelated, which derives many draws from one, and
// with a Func or a custom Jitter that breaks this rule.
func (b Backoff) At(n int, u float64) time.Duration { return b.at(n, draw(u)) }

// After returns the delay before the n-th retry for the draw u, where prev is the previous delay. It is pure. Only
// Decorrelated uses prev: see there. For every other curve After(n, prev, u) is At(n, u).
func (b Backoff) After(n int, prev time.Duration, u float64) time.Duration {
	u = draw(u)
	if b.kind != decorrelated || n <= 0 {
		return b.at(n, u)
	}
	if b.source != drawn {
		u = drawAt(b.ownDraw(0), n)
	}
	return b.step(prev, u)
}

// Ceiling returns min(curve(n)+plus, cap), the n-th delay before jitter, for rules such as "give up once the delay is
// ten seconds". If the curve is random by itself (Sidekiq, Buckets, Decorrelated), the top of its range counts as
// curve(n). For a Func it is the value at the largest u below 1. For Decorrelated it is that of a chain without the
// jitter. For n <= 0 it is 0.
//
// With a jitter whose factor can exceed 1, such as jitter.Default, a Delay may be longer than the Ceiling, but never
// longer than the cap; and where Ceiling is the cap, the delays are spread below it.
func (b Backoff) Ceiling(n int) time.Duration {
	if n <= 0 {
		return 0
	}
	return min(b.highest(n), b.cap())
}

// Dictated returns the delay to wait if the other side has dictated d: at least d, and at most 15 % longer, so that
// clients with the same dictated delay do not return at the same time. room is how much longer than d the wait may be,
// for example before a deadline; a negative room means no bound. It returns
//
//	d + u · min(0.15·d, room/2)
//
// whatever the jitter is. So the delays are spread evenly over at most half of the room, and none comes at its end. A
// curve that is not random, a Table or a Func without a jitter too, returns exactly d. The curve, Plus and the cap have
// no effect. A negative d counts as 0. A delay beyond the range of time.Duration is the largest Duration. u is as in
// At.
func (b Backoff) Dictated(d, room time.Duration, u float64) time.Duration {
	if d <= 0 {
		return 0
	}
	if b.j == nil && !b.tiled && !b.kind.ranged() {
		return d
	}
	most := scale(d, 0.15)
	if room >= 0 {
		most = min(most, room/2)
	}
	return add(d, scale(most, b.ownDraw(draw(u))))
}

// IsTiled reports whether the Backoff is tiled, so that one u must be kept for a whole operation. See Tiled.
func (b Backoff) IsTiled() bool { return b.tiled }

// IsRandom reports whether the delays depend on the draw u.
func (b Backoff) IsRandom() bool {
	return b.source == drawn && (b.j != nil || b.tiled || b.kind.ranged() || b.kind == function)
}

// Plus returns a Backoff that adds d to the curve, before the cap and the jitter.
func (b Backoff) Plus(d time.Duration) Backoff {
	notNegative("Plus", "d", d)
	b.plus = d
	return b
}

// at is At for a draw in [0,1).
func (b *Backoff) at(n int, u float64) time.Duration {
	if n <= 0 {
		return 0
	}
	u = b.ownDraw(u)
	if b.tiled {
		return b.tile(n, u)
	}
	switch b.kind {
	case sidekiq, buckets:
		return b.between(n, u)
	case decorrelated:
		return b.chain(n, u)
	}
	return b.finish(add(b.curve(n, u), b.plus), u)
}

// highest is the curve plus Plus, at the top of the curve's range.
func (b *Backoff) highest(n int) time.Duration {
	switch b.kind {
	case sidekiq, buckets:
		_, hi := b.span(n)
		return add(hi, b.plus)
	case decorrelated:
		return b.chainTop(n)
	}
	return add(b.curve(n, below1), b.plus)
}

// notNegative panics if the argument d with the given name is negative.
func notNegative(method, name string, d time.Duration) {
	if d < 0 {
		panic(fmt.Sprintf("backoff: %s: %s is %v, want at least 0", method, name, d))
	}
}

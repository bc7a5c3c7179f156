package backoff

import (
	"fmt"
	"time"
)

// Tiled returns a Backoff whose delays tile the time line when many operations fail together. With w(n) =
// min(curve(n)+plus, cap), the delays of one operation are
//
//	delay(1) = u·w(1)
//	delay(n) = w(n-1) + u·(w(n) - w(n-1))
//
// for one u in [0,1) that the operation keeps. They sum to w(1) + … + w(n-1) + u·w(n). So the n-th retries of all
// operations form a wave that is w(n) long, with an even load, and the next wave begins where it ends: there is no gap
// and no pile-up. The delays of an operation never shrink. With Constant all waves are equally long, and the peak is
// the lowest of all curves. With Linear each wave is one step longer than the one before, and the first one comes
// early.
//
// This holds for operations that fail at the same time, as far as the attempts themselves take no time. The u must be
// kept for the whole operation: a policy of package retry draws it once, at the first failure, from a golden-ratio
// sequence that is common to the process. Ordinal and Keyed fix it permanently: use one of them with Delay, which
// otherwise draws again at each call. If each process runs one operation, the draws are random and the load is less
// even; Ordinal makes it even again.
//
// "Visualization of backoff functions" asks for a curve like this one; no source contains it.
//
// Tiled panics if the tiles would not fit: with a jitter, on a curve that falls (a Table with a smaller delay after a
// larger one, an Exponential with factor below 1), on a curve that is random by itself, and on a Func.
func (b Backoff) Tiled() Backoff {
	b.tiled = true
	if why := b.tiledWrong(); why != "" {
		panic("backoff: Tiled: " + why)
	}
	return b
}

// tiledWrong returns why the Backoff cannot be tiled, or "" if it can or is not tiled.
func (b *Backoff) tiledWrong() string {
	switch {
	case !b.tiled:
		return ""
	case b.j != nil:
		return "a tiled backoff takes no jitter: it spreads by itself"
	case b.kind.ranged():
		return curves[b.kind].Name + " is random by itself: tiles need a curve that is not"
	case b.kind == function:
		return "a func may fall or be random: tiles need a curve that does neither"
	case b.kind == exponential && b.x < 1:
		return fmt.Sprintf("exponential with factor %v falls: tiles need a curve that never does", b.x)
	case b.kind == tabled:
		if n := b.table.falls(); n > 0 {
			return fmt.Sprintf("table falls from %v to %v at entry %d: tiles need a curve that never does",
				b.table.at(n-1), b.table.at(n), n)
		}
	}
	return ""
}

// tile is the delay of a tiled Backoff, for n >= 1.
func (b *Backoff) tile(n int, u float64) time.Duration {
	before := b.Ceiling(n - 1)
	// max: it is not proven that rounding never makes a nearly flat curve fall by a nanosecond.
	return before + scale(max(0, b.Ceiling(n)-before), u)
}

package retry

import (
	"math"
	"math/rand/v2"

	"github.com/retrywhen/retrywhen/backoff"
)

// draws says when a policy draws a random number.
type draws uint8

const (
	never      draws = iota // the backoff is not random
	nothing                 // and it does not wait
	always                  // for each retry
	onceInARow              // for the retries in a row: Tiled
)

// curve is a backoff and what it draws, for the failures that match accepts; for all others if match is nil.
type curve struct {
	backoff backoff.Backoff
	draws   draws
	match   func(error) bool
}

func curveOf(b backoff.Backoff, match func(error) bool) curve {
	c := curve{backoff: b, match: match}
	switch {
	case b == backoff.Backoff{}:
		c.draws = nothing
	case !b.IsRandom():
		c.draws = never
	case b.IsTiled():
		c.draws = onceInARow
	default:
		c.draws = always
	}
	return c
}

// curveFor returns the curve for the delay after a failure, if there are several.
func (c *config) curveFor(failure error) *curve {
	for i := len(c.curves) - 1; i >= 0; i-- {
		if c.curves[i].match(failure) {
			return &c.curves[i]
		}
	}
	return &c.curve
}

// draw returns the random number for the next retry after the curve's delay, which is random.
func (c *config) draw(b *curve, s *State) float64 {
	switch {
	case b.draws == always:
		return c.random(rand.Float64)
	case s.place == 0:
		s.setPlace(c.random(places.next))
	}
	return math.Float64frombits(s.place - 1)
}

// random draws from the policy's own source, else from the given one.
func (c *config) random(source func() float64) float64 {
	if c.rand != nil {
		source = c.rand
	}
	return source()
}

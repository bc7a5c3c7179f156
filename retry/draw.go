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

func drawsOf(b backoff.Backoff) draws {
	switch {
	case b == backoff.Backoff{}:
		return nothing
	case !b.IsRandom():
		return never
	case b.IsTiled():
		return onceInARow
	default:
		return always
	}
}

// draw returns the random number for the next retry.
func (c *config) draw(s *State) float64 {
	switch {
	case c.draws <= nothing:
		return 0
	case c.draws == always:
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

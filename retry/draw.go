package retry

import (
	"math"
	"math/rand/v2"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/golden"
)

// curve is a backoff for the failures that match accepts; for all others if match is nil.
type curve struct {
	backoff.Backoff
	match  func(error) bool
	waits  bool // else it is the zero Backoff
	random bool
}

func curveOf(b backoff.Backoff, match func(error) bool) curve {
	return curve{b, match, b != backoff.Backoff{}, b.IsRandom()}
}

// curveFor returns the curve for the delay after a failure.
func (c *config) curveFor(failure error) *curve {
	for i := len(c.curves) - 1; i >= 0; i-- {
		if c.curves[i].match(failure) {
			return &c.curves[i]
		}
	}
	return &c.curve
}

// draw returns the random number for the next retry after the curve's delay: one for each retry, under Tiled one for
// the retries in a row.
func (c *config) draw(b *curve, s *State) float64 {
	if !b.IsTiled() {
		return c.drawFrom(rand.Float64)
	}
	if s.place == 0 {
		s.setPlace(c.drawFrom(places.Next))
	}
	return math.Float64frombits(s.place - 1)
}

// drawFrom draws from the policy's own source, else from the given one.
func (c *config) drawFrom(source func() float64) float64 {
	if c.rand != nil {
		source = c.rand
	}
	return source()
}

// places is the process's sequence for the operations of tiled backoffs. It starts anywhere. Operations that fail
// together spread evenly, without knowing how many they are.
var places = golden.NewSequence(rand.Uint64())

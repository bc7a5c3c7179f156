package sim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Service says how long a server works at one request, at its full speed. Its capacity is one request each Mean.
type Service struct {
	Mean  time.Duration `json:"mean"` // more than 0
	Shape Shape         `json:"shape"`
	CV    float64       `json:"cv"` // of LogNormal alone: the standard deviation over the mean, 0 to 100
}

// Shape is how the times of a Service are distributed.
type Shape uint8

// The shapes of a Service. Constant times and exponential ones have closed forms for their queues, M/D/1 and M/M/1;
// measured ones are most like LogNormal.
const (
	ConstantService Shape = iota
	ExponentialService
	LogNormalService
)

var shapes = [...]string{"constant", "exponential", "log-normal"}

// String returns constant, exponential or log-normal.
func (s Shape) String() string {
	if int(s) < len(shapes) {
		return shapes[s]
	}
	return fmt.Sprintf("Shape(%d)", uint8(s))
}

// MarshalText returns what String does. It is an error if s is none of the constants.
func (s Shape) MarshalText() ([]byte, error) {
	if int(s) >= len(shapes) {
		return nil, fmt.Errorf("sim: %v is no shape, want constant, exponential or log-normal", s)
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads what String returns; an empty text is constant.
func (s *Shape) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		*s = ConstantService
		return nil
	}
	for i, name := range shapes {
		if name == string(text) {
			*s = Shape(i)
			return nil
		}
	}
	return fmt.Errorf("sim: %q is no shape, want constant, exponential or log-normal", text)
}

// draw returns the time of one request in ns, at least one.
func (s Service) draw(rng *rand.Rand) float64 {
	x := float64(s.Mean)
	switch s.Shape {
	case ExponentialService:
		x *= rng.ExpFloat64()
	case LogNormalService: // of variance ln(1+CV²), so that the mean stays
		variance := math.Log1p(s.CV * s.CV)
		x *= math.Exp(math.Sqrt(variance)*rng.NormFloat64() - variance/2)
	}
	return max(x, 1)
}

func (c *checker) service(s Service) {
	c.duration("Service.Mean", s.Mean, 1, never)
	if int(s.Shape) >= len(shapes) {
		c.fail("Service.Shape", uint8(s.Shape), "constant (0), exponential (1) or log-normal (2)")
	}
	c.number("Service.CV", s.CV, 0, 100)
}

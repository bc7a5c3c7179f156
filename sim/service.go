package sim

import (
	"math"
	"math/rand/v2"
	"time"
)

// Service is the distribution of the time that a server works on one request, at full speed. The server's capacity is
// one request each Mean.
type Service struct {
	Mean  time.Duration `json:"mean"` // more than 0
	Shape Shape         `json:"shape"`
	CV    float64       `json:"cv"` // the standard deviation over the mean, 0 to 100; only for LogNormalService
}

// Shape is the shape of a Service's distribution.
type Shape uint8

// The shapes of a Service. There are closed forms for the queues of constant times (M/D/1) and exponential times
// (M/M/1). LogNormalService is most like measured times.
const (
	ConstantService Shape = iota
	ExponentialService
	LogNormalService
)

var shapes = choices{"Shape", []string{"constant", "exponential", "log-normal"}}

// String returns constant, exponential or log-normal.
func (s Shape) String() string { return shapes.text(uint8(s)) }

// MarshalText returns the text of String. It returns an error if s is none of the constants.
func (s Shape) MarshalText() ([]byte, error) { return shapes.marshal(uint8(s)) }

// UnmarshalText parses the text of String. An empty text is constant.
func (s *Shape) UnmarshalText(text []byte) error { return shapes.unmarshal((*uint8)(s), text) }

// draw returns the time of one request in ns, at least 1.
func (s Service) draw(rng *rand.Rand) float64 {
	x := float64(s.Mean)
	switch s.Shape {
	case ExponentialService:
		x *= rng.ExpFloat64()
	case LogNormalService: // the variance of the logarithm is ln(1+CV²); subtracting half of it keeps the mean
		variance := math.Log1p(s.CV * s.CV)
		x *= math.Exp(math.Sqrt(variance)*rng.NormFloat64() - variance/2)
	}
	return max(x, 1)
}

func (c *checker) service(s Service) {
	c.duration("Service.Mean", s.Mean, 1, never)
	c.choice("Service.Shape", uint8(s.Shape), shapes)
	c.number("Service.CV", s.CV, 0, 100)
}

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
	Shape Shape         `json:"shape,omitempty"`
	CV    float64       `json:"cv"` // the standard deviation over the mean, 0 to 100; only for LogNormalService
}

// Shape is the shape of a Service's distribution.
type Shape string

// The shapes of a Service. There are closed forms for the queues of constant times (M/D/1) and exponential times
// (M/M/1). LogNormalService is most like measured times.
const (
	ConstantService    Shape = ""
	ExponentialService Shape = "exponential"
	LogNormalService   Shape = "log-normal"
)

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
	choice(c, "Service.Shape", s.Shape, ConstantService, ExponentialService, LogNormalService)
	c.number("Service.CV", s.CV, 0, 100)
}

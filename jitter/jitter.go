package jitter

// A Jitter turns a uniform draw into a factor for a delay.
//
// Factor is asked with u in [0,1) and answers a factor of at least 0, which
// must not fall as u rises. Factor(1) is the bound that no answer passes; it
// must be finite. A Jitter keeps no state and must be safe for concurrent
// use: one value serves any number of goroutines.
//
// The jitters of this package are comparable with ==, print themselves, and
// are read back by Parse. They take a u outside [0,1] for the nearer end, and
// NaN for 0.
type Jitter interface{ Factor(u float64) float64 }

// Func makes a Jitter of a function. It has no text form.
type Func func(u float64) float64

// Factor returns f(u).
func (f Func) Factor(u float64) float64 { return f(u) }

var (
	// None leaves a delay as it is: ×1.
	None Jitter = Uniform(1, 1)

	// Default varies a delay by 15 % either way: ×[0.85, 1.15]. It is
	// Deviation(0.15), after "Exponential-Backoff RxJava operator with Jitter"
	// (2017), whose own draw, 0.85 + nextDouble() % 0.3, is not uniform; this one is.
	Default Jitter = Deviation(0.15)

	// Full draws anything between nothing and the whole delay: ×[0, 1). It is
	// the full jitter of Marc Brooker, "Exponential Backoff And Jitter" (AWS
	// Architecture Blog, 2015), which spreads a crowd best.
	Full Jitter = Uniform(0, 1)

	// Equal keeps half of the delay and draws the other half: ×[0.5, 1). It is
	// the same article's equal jitter, for when no retry may come at once.
	Equal Jitter = Uniform(0.5, 1)
)

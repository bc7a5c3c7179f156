package jitter

// A Jitter maps a uniform draw to a factor for a delay.
//
// Factor is called with u in [0,1). It returns a factor >= 0 that does not decrease as u increases. Factor(1) is an
// upper bound of all factors and must be finite. A Jitter keeps no state and must be safe for concurrent use.
//
// The jitters of this package, except for a Func, are comparable with ==, print their text form, and can be read back
// by Parse. For them a u outside [0,1] counts as the nearer end, and NaN as 0.
type Jitter interface{ Factor(u float64) float64 }

// Func makes a Jitter of a function. A Func has no text form.
type Func func(u float64) float64

// Factor returns f(u).
func (f Func) Factor(u float64) float64 { return f(u) }

var (
	// None leaves a delay unchanged: ×1.
	None Jitter = Uniform(1, 1)

	// Default varies a delay by up to ±15 %: ×[0.85, 1.15]. It is Deviation(0.15), after "Exponential-Backoff RxJava
	// operator with Jitter" (2017), whose own draw, 0.85 + nextDouble() % 0.3, is not uniform; this one is.
	Default Jitter = Deviation(0.15)

	// Full draws a delay between 0 and the whole delay: ×[0, 1). It is the full jitter of Marc Brooker, "Exponential
	// Backoff And Jitter" (AWS Architecture Blog, 2015). It spreads clients most.
	Full Jitter = Uniform(0, 1)

	// Equal keeps half of the delay and draws the other half: ×[0.5, 1). It is the equal jitter of the same article. Use
	// it if no retry may come at once.
	Equal Jitter = Uniform(0.5, 1)
)

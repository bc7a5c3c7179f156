package sim

import (
	"fmt"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
)

// Strategy is a backoff under the name that tables and charts call it by.
type Strategy struct {
	Name      string          `json:"name"`
	Backoff   backoff.Backoff `json:"backoff"`
	Placement Placement       `json:"placement"`
}

// Classics returns the five strategies that "Exponential Backoff And Jitter" compares, under these names:
//
//	none          0
//	exponential   min(most, base·2ⁿ), n from 1: the first wait is 2·base
//	full          that × [0, 1)
//	equal         that × [½, 1)
//	decorrelated  min(most, between(base, 3·the wait before)), which is base at first
//
// The article has a base of 5 ms and a cap of 2 s. Classics panics if base or most is negative, or if 2·base is no
// Duration.
func Classics(base, most time.Duration) []Strategy {
	if base < 0 || base > math.MaxInt64/2 {
		panic(fmt.Sprintf("sim: Classics: base is %v, want 0 to %v", base, time.Duration(math.MaxInt64/2)))
	}
	if most < 0 {
		panic(fmt.Sprintf("sim: Classics: most is %v, want >= 0", most))
	}
	exponential := backoff.Exponential(2*base, 2).Cap(most)
	return []Strategy{
		{Name: "none"},
		{Name: "exponential", Backoff: exponential},
		{Name: "full", Backoff: exponential.Jitter(jitter.Full)},
		{Name: "equal", Backoff: exponential.Jitter(jitter.Equal)},
		{Name: "decorrelated", Backoff: backoff.Decorrelated(base).Cap(most)},
	}
}

package sim

import (
	"math"
	"time"
)

// Trigger is what happens to a server: from At on it works for the time For at the part Speed of its full speed, then
// its speed grows evenly to the full one within Ramp. The zero Trigger is none.
//
// So a standstill of 5 s has a For of 5 s and no Speed, a slow-down a Speed, capacity that is lost for good a Speed and
// a For past the end, and capacity that returns slowly a Ramp.
type Trigger struct {
	At    time.Duration `json:"at"`
	For   time.Duration `json:"for"`
	Speed float64       `json:"speed"` // 0 to 1; 0 is a standstill
	Ramp  time.Duration `json:"ramp"`
}

func (c *checker) trigger(t Trigger) {
	c.notNegative("Trigger.At", t.At)
	c.notNegative("Trigger.For", t.For)
	c.number("Trigger.Speed", t.Speed, 0, 1)
	c.notNegative("Trigger.Ramp", t.Ramp)
}

// end is when the speed begins to grow again.
func (t Trigger) end() time.Duration { return add(t.At, t.For) }

// finish returns the time at which a server that starts at start has done the work, in nanoseconds at full speed.
func (t Trigger) finish(start time.Duration, work float64) time.Duration {
	now := float64(start)
	at, end := float64(t.At), float64(t.end())
	if now < at {
		if now+work <= at {
			return duration(now + work)
		}
		now, work = at, work-(at-now)
	}
	if now < end {
		if now+work/t.Speed <= end { // +Inf at a standstill
			return duration(now + work/t.Speed)
		}
		now, work = end, work-(end-now)*t.Speed
	}
	if ramp := float64(t.Ramp); now < end+ramp {
		// The speed at now, and its growth in a ns: work = v·x + g·x²/2 after x ns.
		v, g := t.Speed+(1-t.Speed)*(now-end)/ramp, (1-t.Speed)/ramp
		left := end + ramp - now
		if most := left * (v + 1) / 2; work > most {
			now, work = end+ramp, work-most
		} else {
			return duration(now + 2*work/(v+math.Sqrt(v*v+2*g*work)))
		}
	}
	return duration(now + work)
}

package sim

import (
	"math"
	"time"
)

// Trigger changes the speed of a server. From At on, for the time For, it works at the share Speed of its full speed.
// Then its speed grows linearly to full speed within Ramp. The zero Trigger changes nothing.
//
// Examples: for a standstill of 5 s, For is 5 s and Speed is 0. For a slow-down, Speed is between 0 and 1. For capacity
// that is lost forever, For ends after the Horizon. For capacity that returns slowly, Ramp is set.
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

// end returns the time at which the speed begins to grow again.
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
		// v is the speed at now and g its growth per ns: the work after x ns is v·x + g·x²/2.
		v, g := t.Speed+(1-t.Speed)*(now-end)/ramp, (1-t.Speed)/ramp
		remaining := end + ramp - now
		if most := remaining * (v + 1) / 2; work > most {
			now, work = end+ramp, work-most
		} else {
			return duration(now + 2*work/(v+math.Sqrt(v*v+2*g*work)))
		}
	}
	return duration(now + work)
}

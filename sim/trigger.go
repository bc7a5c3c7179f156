package sim

import "time"

// Trigger is a standstill of a server: from At on, for the time For, it does no work. The zero Trigger changes nothing.
type Trigger struct {
	At  time.Duration `json:"at"`
	For time.Duration `json:"for"`
}

func (c *checker) trigger(t Trigger) {
	c.notNegative("Trigger.At", t.At)
	c.notNegative("Trigger.For", t.For)
}

// end returns the end of the standstill.
func (t Trigger) end() time.Duration { return add(t.At, t.For) }

// finish returns the time at which a server that starts at start has done the work.
func (t Trigger) finish(start, work time.Duration) time.Duration {
	switch {
	case start >= t.end() || add(start, work) <= t.At:
		return add(start, work)
	case start < t.At:
		work -= t.At - start
	}
	return add(t.end(), work)
}

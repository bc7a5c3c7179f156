package sim

import "time"

// event is the next action of a client. Events of one instant are ordered by mark, which may also carry data of the
// model, then by who.
type event struct {
	at   time.Duration
	mark int64
	who  int32
	kind int32
}

// Before orders a heap.
func (e event) Before(f event) bool {
	if e.at != f.at {
		return e.at < f.at
	}
	if e.mark != f.mark {
		return e.mark < f.mark
	}
	return e.who < f.who
}

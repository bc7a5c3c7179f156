package sim

import "time"

// event is what a client does next, and when. mark tells events of one instant apart, and may carry what the model
// needs to know then; who comes last.
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

package handoff

import "testing"

// A side that is about to wait when the other side moves gets one signal. A side that does not wait gets none.
func TestSide(t *testing.T) {
	s := side{moved: make(chan struct{}, 1)}
	for range 3 {
		s.move(2)
		if s.waits(func() bool { return false }) || s.waits(func() bool { s.move(2); return false }) {
			t.Error("waits returned true for a side that need not wait")
		}
		if !s.waits(func() bool { return true }) {
			t.Error("waits returned false for a side that must wait")
		}
		if s.move(2); len(s.moved) != 1 {
			t.Error("there is no signal")
		}
		<-s.moved
		if s.move(2); len(s.moved) != 0 || s.count.Load()%2 != uint64(s.slot) {
			t.Errorf("%d signals without a waiting side; %d moves, slot %d", len(s.moved), s.count.Load(), s.slot)
		}
	}
}

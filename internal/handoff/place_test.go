package handoff

import "testing"

// A side that is about to wait when the other side moves gets one signal. A side that does not wait gets none.
func TestPlace(t *testing.T) {
	p := place{moved: make(chan struct{}, 1)}
	for range 3 {
		p.move(2)
		if p.waits(func() bool { return false }) || p.waits(func() bool { p.move(2); return false }) {
			t.Error("waits returned true for a side that need not wait")
		}
		if !p.waits(func() bool { return true }) {
			t.Error("waits returned false for a side that must wait")
		}
		if p.move(2); len(p.moved) != 1 {
			t.Error("there is no signal")
		}
		<-p.moved
		if p.move(2); len(p.moved) != 0 || p.count.Load()%2 != uint64(p.slot) {
			t.Errorf("%d signals without a waiting side; %d moves, slot %d", len(p.moved), p.count.Load(), p.slot)
		}
	}
}

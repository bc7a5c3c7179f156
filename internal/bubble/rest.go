// Package bubble waits inside a testing/synctest bubble until all else in it is at rest, without the testing package and
// without time passing.
package bubble

import "time"

// Inside reports whether the caller runs in a bubble.
func Inside() bool {
	now := time.Now()
	return now == now.Round(0) // the times of a bubble have no monotonic reading
}

// Rest waits, as synctest.Wait does, until every other goroutine of the caller's bubble is durably blocked. Unlike there
// several goroutines may do so at once, and also while another is in synctest.Wait, which returns later.
func Rest() {
	done := make(chan struct{}, 1)
	timer := time.AfterFunc(time.Hour, func() { done <- struct{}{} })
	// A timer of a bubble that is reset to now while it waits for later goes off when the bubble would let time move, and
	// before it does. No documentation promises this; a test holds on to it. The first time it may be the same look at the
	// timers that has woken the caller, if that is interrupted; so there is a second.
	for range 2 {
		timer.Reset(time.Hour)
		timer.Reset(0)
		<-done
	}
}

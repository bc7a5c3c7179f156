package virtual

import "time"

// rest waits, as synctest.Wait does, until every other goroutine of the caller's bubble is durably blocked. Unlike
// there several goroutines may do so at once, and also while another is in synctest.Wait, which returns later.
func rest() {
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

package virtual

import "time"

// rest waits, as synctest.Wait does, until every other goroutine of the caller's bubble is durably blocked. Unlike with
// synctest.Wait, several goroutines may do so at once, also while another is in synctest.Wait, which returns later.
func rest() {
	done := make(chan struct{}, 1)
	timer := time.AfterFunc(time.Hour, func() { done <- struct{}{} })
	// If a timer of a bubble waits for a later time and is reset to now, it fires when the bubble would let time move,
	// before time moves. This is not documented, but a test checks it. The first time, the timer may fire in the same pass
	// over the timers that woke the caller, if that pass is interrupted. So there is a second time.
	for range 2 {
		timer.Reset(time.Hour)
		timer.Reset(0)
		<-done
	}
}

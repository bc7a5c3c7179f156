package streamtest

import "time"

// resting is a way to wait until a bubble has come to rest: as synctest.Wait, but any goroutine may use it while another
// is in Wait, which returns later. A timer of a bubble that is reset to now, while it waits for later, goes off when
// every goroutine is durably blocked, before time moves and before Wait returns.
type resting struct {
	timer *time.Timer
	done  chan struct{}
}

func newResting() resting {
	done := make(chan struct{}, 1)
	timer := time.AfterFunc(time.Hour, func() { done <- struct{}{} })
	timer.Stop()
	return resting{timer, done}
}

func (r resting) wait() {
	r.timer.Reset(time.Hour)
	r.timer.Reset(0)
	<-r.done
}

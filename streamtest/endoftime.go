package streamtest

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// lastMoment is as far as a session goes. The runtime counts nanoseconds since 1970 in 63 bits, which ends in April 2262;
// a goroutine of a bubble that sleeps there crashes the whole process.
var lastMoment = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)

// errEndOfTime is the cause with which a session ends its context at its last moment.
var errEndOfTime = errors.New("streamtest: the bubble's time has come to its end")

// endOfTime waits for a session's last moment: time jumps there when the test waits and nothing else is armed before.
type endOfTime struct {
	session *Session
	timer   *time.Timer
	last    *time.Timer
	text    string        // the report, once it was made
	done    chan struct{} // closed then
	asked   atomic.Bool   // whoever waits reports it
}

func newEndOfTime(s *Session) *endOfTime {
	e := &endOfTime{session: s, done: make(chan struct{})}
	e.timer = time.AfterFunc(time.Until(lastMoment), e.reached)
	return e
}

// reached reports, and ends the session's context, which lets well-behaved code return.
func (e *endOfTime) reached() {
	s := e.session
	if e.asked.Load() {
		close(e.done)
		return
	}
	var waiting []goroutine
	for _, g := range inBubble(s.bubble) {
		if !g.machinery() && g.id != current().id {
			waiting = append(waiting, g)
		}
	}
	e.text = fmt.Sprintf("streamtest: the test waits, and nothing happens before %s, where the time of a bubble ends: a deadlock, or a wait of centuries (delays that double from 1s get there at n = 32: Cap them); what waits:%s",
		lastMoment.Format(time.DateOnly), list(waiting))
	s.report.Errorf("%s", e.text)
	e.last = time.AfterFunc(24*time.Hour, func() {
		// Still waiting. If for time, the runtime would crash without a word of why.
		for _, g := range waiting {
			if g.state == "sleep" {
				fmt.Fprintln(os.Stderr, e.text)
				panic("streamtest: " + s.t.Name() + ": the bubble's time has come to its end, and a goroutine sleeps on")
			}
		}
	})
	close(e.done)
	s.cancel(errEndOfTime)
}

// passed reports whether the last moment has come.
func (e *endOfTime) passed() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

func (e *endOfTime) stop() {
	e.timer.Stop()
	if e.last != nil {
		e.last.Stop()
	}
}

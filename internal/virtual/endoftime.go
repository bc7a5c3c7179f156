package virtual

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
)

// lastMoment is the last moment of a bubble. The runtime counts nanoseconds since 1970 in 63 bits, which end in April
// 2262; a goroutine of a bubble that sleeps there crashes the whole process.
var lastMoment = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)

// ErrEndOfTime is the cause with which a bubble ends its context at its last moment.
var ErrEndOfTime = errors.New("streamtest: the bubble's time has come to its end")

// endOfTime waits for a bubble's last moment: time jumps there when the test waits and nothing else is armed before.
type endOfTime struct {
	timer  *time.Timer // of the end, then of the crash after it
	report Reporter
	cancel context.CancelCauseFunc
	test   string // its name
	GaveUp bool   // the test waits for something that does not happen, and that was reported

	expected atomic.Bool   // the test waits for the end of time too, and makes the report itself
	reached  chan struct{} // closed then
}

// start begins the wait. It must be called in the bubble.
func (e *endOfTime) start() {
	e.reached = make(chan struct{})
	e.timer = time.AfterFunc(time.Until(lastMoment), e.reach)
}

// reach reports the end of time, and ends the bubble's context, so that code that watches the context returns.
func (e *endOfTime) reach() {
	defer close(e.reached)
	if e.expected.Load() {
		return
	}
	e.GaveUp = true
	me := goroutine.Current()
	waiting := others(me.Bubble, me.ID)
	text := fmt.Sprintf("streamtest: the test waits, and nothing happens before %s, where the time of a bubble ends: a deadlock, or a wait of centuries (delays that double from 1s get there at n = 32: Cap them); what waits:%s",
		lastMoment.Format(time.DateOnly), List(waiting))
	e.report.Errorf("%s", text)
	e.timer = time.AfterFunc(24*time.Hour, func() {
		// The test still waits. If it waits for time, the runtime would crash without the reason.
		for _, g := range waiting {
			if g.State == "sleep" {
				fmt.Fprintln(os.Stderr, text)
				panic("streamtest: " + e.test + ": the bubble's time has come to its end, and a goroutine sleeps on")
			}
		}
	})
	e.cancel(ErrEndOfTime)
}

// Expect prevents the report of the end of time.
func (e *endOfTime) Expect() { e.expected.Store(true) }

// Await waits for news, and reports whether they have come before the end of time.
func (e *endOfTime) Await(news <-chan struct{}) bool {
	e.expected.Store(true)
	defer e.expected.Store(false)
	select {
	case <-news:
		return true
	case <-e.reached:
		return false
	}
}

// Sleep lets d pass. It ends the test if d goes beyond the end of time.
func (e *endOfTime) Sleep(d time.Duration) {
	e.report.Helper()
	if d > time.Until(lastMoment) {
		e.report.Fatalf("streamtest: Advance: %v from %s leads past %s, where the time of a bubble ends; delays that double from 1s get there at n = 32: Cap them",
			d, time.Now().Format(time.DateTime), lastMoment.Format(time.DateTime))
	}
	time.Sleep(d)
}

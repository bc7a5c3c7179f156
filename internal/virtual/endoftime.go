package virtual

import (
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// lastMoment is the last moment of a bubble. The runtime counts nanoseconds since 1970 in 63 bits, which end in April
// 2262; a goroutine of a bubble that sleeps there crashes the whole process.
var lastMoment = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)

// ErrEndOfTime is the cause with which a bubble ends its context at its last moment.
var ErrEndOfTime = errors.New("streamtest: the bubble's time has come to its end")

// endOfTime waits for a bubble's last moment: time jumps there when the test waits and nothing else is armed before.
type endOfTime struct {
	test   string // its name
	GaveUp bool   // the test waits for something that does not happen, and that was reported

	expected atomic.Bool   // the test waits for the end of time too, and makes the report itself
	reached  chan struct{} // closed then
}

// reachEnd reports the end of time, and ends the bubble's context, so that code that watches the context returns.
func (b *Bubble) reachEnd() {
	defer close(b.reached)
	if b.expected.Load() {
		return
	}
	b.GaveUp = true
	me := Current()
	waiting := others(me.Bubble, me.ID)
	text := fmt.Sprintf("streamtest: the test waits, and nothing happens before %s, where the time of a bubble ends: a deadlock, or a wait of centuries (delays that double from 1s get there at n = 32: Cap them); what waits:%s",
		lastMoment.Format(time.DateOnly), List(waiting))
	b.Report.Errorf("%s", text)
	time.AfterFunc(24*time.Hour, func() {
		// The test still waits. If it waits for time, the runtime would crash without the reason.
		for _, g := range waiting {
			if g.State == "sleep" {
				fmt.Fprintln(os.Stderr, text)
				panic("streamtest: " + b.test + ": the bubble's time has come to its end, and a goroutine sleeps on")
			}
		}
	})
	b.Cancel(ErrEndOfTime)
}

// Expect prevents the report of the end of time.
func (b *Bubble) Expect() { b.expected.Store(true) }

// Await waits for news, and reports whether they have come before the end of time.
func (b *Bubble) Await(news <-chan struct{}) bool {
	b.expected.Store(true)
	defer b.expected.Store(false)
	select {
	case <-news:
		return true
	case <-b.reached:
		return false
	}
}

// Sleep lets d pass. It ends the test if d goes beyond the end of time.
func (b *Bubble) Sleep(d time.Duration) {
	b.Report.Helper()
	if d > time.Until(lastMoment) {
		b.Report.Fatalf("streamtest: Advance: %v from %s leads past %s, where the time of a bubble ends; delays that double from 1s get there at n = 32: Cap them",
			d, time.Now().Format(time.DateTime), lastMoment.Format(time.DateTime))
	}
	time.Sleep(d)
}

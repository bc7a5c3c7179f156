package streamtest

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// freeze looks after a bubble from outside, in real time. A bubble in which a goroutine waits for something outside
// stands still: its time does not move, and no test ends.
type freeze struct {
	timer  *time.Timer
	bubble atomic.Int64
}

// watchForFreeze looks at the bubble that watch names, once, when d has passed. It must be called outside.
func watchForFreeze(d time.Duration, to io.Writer, test string) *freeze {
	f := new(freeze)
	f.timer = time.AfterFunc(d, func() { reportFreeze(to, test, d, int(f.bubble.Load())) })
	return f
}

// reportFreeze says what keeps a bubble from moving on, if something does.
func reportFreeze(to io.Writer, test string, d time.Duration, bubble int) {
	if frozen := frozenIn(bubble); len(frozen) > 0 {
		fmt.Fprintf(to, "streamtest: %s stands still since %v: time moves in a bubble only while each of its goroutines waits for another of them, or for time. These wait for something else, a mutex, a channel from outside, a file or the network:%s\n", test, d, list(frozen))
	}
}

// watch names the bubble.
func (f *freeze) watch(bubble int) { f.bubble.Store(int64(bubble)) }

// Stop ends the watch.
func (f *freeze) Stop() { f.timer.Stop() }

// frozenIn returns the goroutines that keep a bubble from moving on, none if something runs in it.
func frozenIn(bubble int) (frozen []goroutine) {
	if bubble == 0 {
		return nil
	}
	for _, g := range inBubble(bubble) {
		switch {
		case g.durable:
		case g.state == "running" || g.state == "runnable":
			return nil
		default:
			frozen = append(frozen, g)
		}
	}
	return frozen
}

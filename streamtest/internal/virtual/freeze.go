package virtual

import (
	"sync/atomic"
	"time"
)

// FreezeAfter is how long a bubble may stand still, in real time, before its test fails.
var FreezeAfter = 10 * time.Second

// awaitFreeze waits, outside of a bubble, until the bubble is over, or until it stands still at two consecutive checks;
// then it returns the goroutines that keep it from moving on.
func awaitFreeze(bubble *atomic.Int64, d time.Duration, over <-chan struct{}) []Goroutine {
	look := time.NewTicker(d / 2)
	defer look.Stop()
	for frozenBefore := false; ; {
		select {
		case <-over:
			return nil
		case <-look.C:
		}
		frozen := frozenIn(int(bubble.Load()))
		if len(frozen) > 0 && frozenBefore {
			return frozen
		}
		frozenBefore = len(frozen) > 0
	}
}

// frozenIn returns the goroutines that keep a bubble from moving on, none if something runs in it.
func frozenIn(bubble int) (frozen []Goroutine) {
	for _, g := range inBubble(bubble) {
		switch {
		case bubble == 0 || g.State == "running" || g.State == "runnable":
			return nil
		case !g.Durable:
			frozen = append(frozen, g)
		}
	}
	return frozen
}

package virtual

import (
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"
)

// FreezeAfter is how long a bubble may stand still, in real time, before its test fails.
var FreezeAfter = 10 * time.Second

// looks is at how many consecutive looks a frozen bubble has not changed. A look stops the world, for which every
// goroutine that runs must come to a safe point. So a slow machine makes progress between two looks.
const looks = 10

// awaitFreeze waits, outside of a bubble, until the bubble is over, or until it has stood still for d; then it returns
// the goroutines that keep it from moving on.
func awaitFreeze(bubble *atomic.Int64, d time.Duration, over <-chan struct{}) []Goroutine {
	look := time.NewTicker(d / looks)
	defer look.Stop()
	var before []Goroutine
	for same := 0; ; same++ {
		select {
		case <-over:
			return nil
		case <-look.C:
		}
		now := still(int(bubble.Load()))
		if now == nil || !reflect.DeepEqual(now, before) {
			before, same = now, 0
		}
		if same == looks {
			return slices.DeleteFunc(now, func(g Goroutine) bool { return g.Durable })
		}
	}
}

// still returns the goroutines of a bubble if none of them can go on, and at least one waits for what is not in the
// bubble, else nil.
func still(bubble int) []Goroutine {
	all := inBubble(bubble)
	stuck := func(g Goroutine) bool { return !g.Durable }
	moving := func(g Goroutine) bool { return stuck(g) && !g.waits() }
	if bubble == 0 || slices.ContainsFunc(all, moving) || !slices.ContainsFunc(all, stuck) {
		return nil
	}
	return all
}

// waits reports whether g waits for another goroutine or for the network. All other states pass without help, those in
// which the garbage collector holds a goroutine for example, and a call of the operating system may take its time.
func (g Goroutine) waits() bool {
	return strings.HasPrefix(g.State, "sync.") || slices.Contains([]string{"chan receive", "chan send", "select", "IO wait"}, g.State)
}

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

// watch is how a bubble is watched from outside.
type watch struct {
	still time.Duration // a bubble that stands still for so long, in real time, is frozen
	moved func() bool   // whether it does what it should, although it does not stand still; may be nil
	leave time.Duration // how long to wait, at the end of the test, for what a frozen bubble leaves; 0: a minute
}

// await waits until the bubble is over, or until it is frozen or has not moved; then it returns its goroutines.
func (w watch) await(bubble *atomic.Int64, over <-chan struct{}) []Goroutine {
	look := time.NewTicker(w.still / looks)
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
			return now
		}
		if w.moved != nil && !w.moved() {
			return inBubble(int(bubble.Load()))
		}
	}
}

// Blocking returns the goroutines of a bubble that keep it from moving on.
func Blocking(all []Goroutine) []Goroutine {
	return slices.DeleteFunc(slices.Clone(all), func(g Goroutine) bool { return g.Durable })
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

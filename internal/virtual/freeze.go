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

// leaving is how long, in real time, to wait at the end of a test for what a frozen bubble leaves.
const leaving = 5 * time.Second

// looks is at how many consecutive looks a frozen bubble has not changed. A look stops the world, for which every
// goroutine that runs must come to a safe point. So a slow machine makes progress between two looks.
const looks = 10

// watch is how a bubble is watched from outside.
type watch struct {
	still time.Duration // a bubble that stands still for so long, in real time, is frozen
	moved func() bool   // whether it does what it should, although it does not stand still; may be nil
}

// await waits until the bubble has ended, or until it is frozen or has not moved; then it returns its goroutines.
func (w watch) await(bubble *atomic.Int64, ended <-chan struct{}) []Goroutine {
	look := time.NewTicker(w.still / looks)
	defer look.Stop()
	var before []Goroutine
	for same := 0; ; same++ {
		select {
		case <-ended:
			return nil
		case <-look.C:
		}
		now := standing(int(bubble.Load()))
		if now == nil || !reflect.DeepEqual(now, before) {
			before, same = now, 0
		}
		if same == looks {
			return now
		}
		if w.moved != nil && !w.moved() {
			return InBubble(int(bubble.Load()))
		}
	}
}

// Blocking returns the goroutines of a bubble that keep it from moving on.
func Blocking(all []Goroutine) []Goroutine {
	return slices.DeleteFunc(slices.Clone(all), func(g Goroutine) bool { return g.Durable })
}

// Stuck returns who keeps a bubble from moving on, who reads a connection, and who may hold the mutex that is waited
// for: who runs a method of the type, or else a function of the package, that locks it.
func Stuck(all []Goroutine) string {
	waiting := Blocking(all)
	durable := slices.DeleteFunc(slices.Clone(all), func(g Goroutine) bool { return !g.Durable })
	text := List(waiting)
	if reading := slices.DeleteFunc(slices.Clone(durable), func(g Goroutine) bool { return !g.Reads() }); len(reading) > 0 {
		text += "\n    meanwhile: " + strings.Join(Waits(reading), ", ")
	}
	if holding := holders(waiting, durable); len(holding) > 0 {
		text += "\n    the mutex may be held here: " + strings.Join(Waits(holding), ", ")
	}
	return text
}

// holders returns those of the others that run what waiting goroutines have locked.
func holders(waiting, others []Goroutine) (holding []Goroutine) {
	for _, g := range waiting {
		i := slices.IndexFunc(g.Calls, func(c Call) bool {
			return !slices.Contains([]string{"sync", "internal/sync", "runtime"}, packageOf(c.Function))
		})
		if !strings.HasPrefix(g.State, "sync.") || i < 0 {
			continue
		}
		owner := g.Calls[i].Function
		for _, part := range []string{owner[:max(0, strings.LastIndexByte(owner, '.'))], packageOf(owner)} {
			for _, other := range others {
				if slices.ContainsFunc(other.Calls, func(c Call) bool { return strings.HasPrefix(c.Function, part+".") }) {
					holding = append(holding, other)
				}
			}
			if len(holding) > 0 {
				return holding
			}
		}
	}
	return nil
}

// standing returns the goroutines of a bubble if none of them can go on, and at least one waits for what is not in the
// bubble, else nil.
func standing(bubble int) []Goroutine {
	all := InBubble(bubble)
	stuck := func(g Goroutine) bool { return !g.Durable }
	moving := func(g Goroutine) bool { return stuck(g) && !g.blocked() }
	if bubble == 0 || slices.ContainsFunc(all, moving) || !slices.ContainsFunc(all, stuck) {
		return nil
	}
	return all
}

// blocked reports whether g waits for another goroutine or for the network. All other states pass without help, those
// in which the garbage collector holds a goroutine for example, and a call of the operating system may take its time.
func (g Goroutine) blocked() bool {
	return strings.HasPrefix(g.State, "sync.") || slices.Contains([]string{"chan receive", "chan send", "select", "IO wait"}, g.State)
}

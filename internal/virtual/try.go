package virtual

import (
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// Standing is how long, in real time, a bubble of Try stands still until it is frozen.
var Standing = 3 * time.Second

// spinning is how long, in real time, a bubble of Try may run without virtual time.
const spinning = 30 * time.Second

// latest is the latest instant that any bubble of Try, or the real clock when the process began, has shown, in ns.
var latest atomic.Int64

func init() { latest.Store(time.Now().UnixNano()) }

// Try runs f in a bubble that begins an hour after the latest instant of those before, and leaves behind what does not
// end with it. If its time stands still, Try returns the goroutines in it; spins says that one of them runs. A client
// that spins never lets a timer fire, so f must report by seen what it does.
func Try(t *testing.T, f func(b *Bubble, seen func())) (stuck []Goroutine, spins bool) {
	var instant atomic.Int64 // of this bubble
	seen := func() {
		now := time.Now().UnixNano()
		instant.Store(now)
		for last := latest.Load(); last < now && !latest.CompareAndSwap(last, now); last = latest.Load() {
		}
	}
	last, since := int64(0), time.Now()
	moved := func() bool {
		if now := instant.Load(); now != last {
			last, since = now, time.Now()
		}
		spins = time.Since(since) > spinning
		return !spins
	}
	all, _ := run(t, t, watch{still: Standing, moved: moved}, func(_ *testing.T, b *Bubble) {
		b.Expect()
		time.Sleep(time.Until(time.Unix(0, latest.Load()).Add(time.Hour)))
		var minute *time.Timer
		minute = time.AfterFunc(time.Hour, func() {
			seen()
			minute.Reset(time.Minute)
		})
		minute.Reset(time.Minute)
		f(b, seen)
		seen()
	})
	return slices.DeleteFunc(all, Goroutine.machinery), spins
}

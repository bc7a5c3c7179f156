// Package virtual is the bubble in which a session runs, with its time: a clock whose timers of one instant fire in the
// order armed, and reports of waiting goroutines, of leaked goroutines and timers, and of goroutines that keep a bubble
// from moving on. It reads the runtime's list of goroutines, which stops the world, so only tests should use it.
package virtual

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Reporter is the part of a *testing.T that a bubble uses for its reports.
type Reporter interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Bubble is a bubble of testing/synctest with a Clock.
type Bubble struct {
	Clock
	endOfTime

	Report  Reporter
	Context context.Context // the test's context, without a clock
	Cancel  context.CancelCauseFunc

	id    int
	known map[int]bool // goroutines that were there at the start, or have been reported
}

// Start is the time at which every bubble begins.
var Start = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// Run runs f in a bubble. It returns an error if nothing can happen in the bubble any more; then the goroutines in it
// remain. If the bubble stands still because something in it waits for something outside, Run ends the test.
func Run(t *testing.T, report Reporter, f func(t *testing.T, b *Bubble)) (deadlock error) {
	t.Helper()
	frozen, deadlock := run(t, report, watch{still: FreezeAfter}, f)
	if frozen != nil {
		report.Fatalf("streamtest: the test stands still: time moves in a bubble only while each of its goroutines waits for another of them, or for time. These wait for something else - a mutex, a channel from outside, the Context of the test around the session (use the session's), a file or the network:%s",
			List(Blocking(frozen)))
	}
	return deadlock
}

func run(t *testing.T, report Reporter, w watch, f func(t *testing.T, b *Bubble)) (frozen []Goroutine, deadlock error) {
	t.Helper()
	if Current().Bubble != 0 {
		panic("streamtest: called inside a synctest bubble: a bubble cannot be in another; call it from the test itself")
	}
	t.Context().Done() // makes the channel: one made in the bubble would be closed from outside, which ends the process
	outside := t
	var id atomic.Int64
	exited := true
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if thrown := recover(); thrown != nil { // by the runtime; a panic in the bubble ends the process
				exited = false
				deadlock = fmt.Errorf("%v; what waits:%s", thrown, List(others(int(id.Load()))))
			}
		}()
		synctest.Test(t, func(t *testing.T) {
			me := Current()
			id.Store(int64(me.Bubble))
			b := &Bubble{Report: report, id: me.Bubble, known: map[int]bool{me.ID: true}}
			if report == Reporter(outside) {
				b.Report = t
			}
			b.Context, b.Cancel = context.WithCancelCause(t.Context())
			b.endOfTime = endOfTime{test: t.Name(), reached: make(chan struct{})}
			time.AfterFunc(time.Until(lastMoment), b.reachEnd)
			b.Clock.start()
			f(t, b)
		})
		exited = false
	}()
	if frozen := w.await(&id, ended); frozen != nil {
		t.Cleanup(func() { // the test's context has ended: goroutines that waited for that continue
			begun := time.Now()
			watch{min(time.Second, w.still), func() bool { return time.Since(begun) < leaving }}.await(&id, ended)
		})
		return frozen, nil
	}
	if exited {
		runtime.Goexit()
	}
	return nil, deadlock
}

// Running returns the goroutines that were started in the bubble and still run, without those that Left has returned.
func (b *Bubble) Running() []Goroutine {
	return slices.DeleteFunc(others(b.id), func(g Goroutine) bool { return b.known[g.ID] })
}

// Left returns the goroutines that were started in the bubble and still run. It returns each only once.
func (b *Bubble) Left() []Goroutine {
	left := b.Running()
	for _, g := range left {
		b.known[g.ID] = true
	}
	return left
}

// Goroutine returns a goroutine of the bubble. One that has ended has no calls.
func (b *Bubble) Goroutine(id int) Goroutine {
	all := InBubble(b.id)
	if i := slices.IndexFunc(all, func(g Goroutine) bool { return g.ID == id }); i >= 0 {
		return all[i]
	}
	return Goroutine{}
}

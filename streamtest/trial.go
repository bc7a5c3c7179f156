package streamtest

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// trial is one run of a stream under inspection.
type trial[T any] struct {
	*subscriber[T]

	in     *inspection[T]
	stream stream.Stream[T]
	answer func(n int) bool // the result of yield for the n-th value

	goroutine atomic.Int64 // the goroutine that runs the stream
	stopped   atomic.Bool  // yield has returned false
	endless   bool         // the stream was cancelled, because it had not ended within Check's limits
}

// prepare makes a trial that does not run yet. Its yield accepts as many values as Check examines.
func (in *inspection[T]) prepare(name string, st stream.Stream[T]) *trial[T] {
	tr := &trial[T]{subscriber: newSubscriber[T](in.session, name), in: in, stream: st}
	tr.answer = func(n int) bool { return n < mostValues }
	if in.system {
		tr.ctx, tr.cancel = context.WithCancelCause(in.session.t.Context())
	}
	return tr
}

// start runs the stream, and returns the trial.
func (tr *trial[T]) start() *trial[T] {
	go func() {
		tr.goroutine.Store(int64(virtual.Current().ID))
		tr.run(tr.stream, tr.yield)
	}()
	return tr
}

func (tr *trial[T]) yield(v T) bool {
	n, late := tr.note(marble.Event[T]{Value: v}, false)
	wrong := ""
	switch {
	case late:
		wrong = "yield was called after the stream had returned"
	case (n <= 10 || n%10 == 0) && int64(virtual.Current().ID) != tr.goroutine.Load():
		// Not checked for each value, because it is slow.
		wrong = "yield was called on another goroutine than the one that runs the stream"
	case tr.stopped.Load():
		wrong = "yield was called again after it had returned false"
	case tr.answer(n):
		return true
	}
	tr.stopped.Store(true)
	if wrong != "" {
		tr.fail("%s", wrong)
	}
	return false
}

// fail reports what is wrong with the run.
func (tr *trial[T]) fail(format string, args ...any) {
	tr.in.fail("%s: %s", tr.name, fmt.Sprintf(format, args...))
}

// history returns the values so far, and the end, which is a value if there is none.
func (tr *trial[T]) history() (values []marble.Event[T], end marble.Event[T]) {
	for _, e := range tr.seen() {
		if e.Kind == marble.Value {
			values = append(values, e)
		} else {
			end = e
		}
	}
	return values, end
}

// values returns the number of values so far.
func (tr *trial[T]) values() int {
	values, _ := tr.history()
	return len(values)
}

// crashed returns what the stream has panicked with, and whether it has called runtime.Goexit.
func (tr *trial[T]) crashed() (value any, exited bool) {
	_, end := tr.history()
	if c, ok := end.Err.(*crash); ok {
		return c.value, c.stack == nil
	}
	return nil, false
}

// await lets time pass until the stream has returned or enough has come, at most d.
func (tr *trial[T]) await(d time.Duration, enough func() bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	for expired := false; !expired && !tr.returned() && !enough(); {
		select {
		case <-tr.news:
		case <-timer.C:
			expired = true
		}
	}
	tr.session.bubble.Settle()
}

// wait lets time pass until the stream has returned, at most d.
func (tr *trial[T]) wait(d time.Duration) { tr.await(d, func() bool { return false }) }

// complete waits for the end of the run, within Check's limits.
func (tr *trial[T]) complete() {
	tr.wait(mostTime - time.Since(tr.from))
	if tr.endless = !tr.returned(); tr.endless {
		tr.cancel(errCause)
		tr.mustReturn()
	} else if value, exited := tr.crashed(); value != nil || exited {
		tr.fail("the stream %s", tr.outcome())
	}
}

// mustReturn fails unless the stream has returned when all goroutines are at rest, without any time passing.
func (tr *trial[T]) mustReturn() {
	tr.session.bubble.Settle()
	if !tr.returned() {
		tr.fail("the stream does not return at once\n    %s", tr.session.bubble.Goroutine(int(tr.goroutine.Load())))
	}
}

// mustMatch fails unless the stream has returned an error that matches the cause.
func (tr *trial[T]) mustMatch(cause error) {
	if _, end := tr.history(); tr.returned() && !errors.Is(end.Err, cause) {
		tr.fail("it %s; want an error that matches context.Cause(ctx), which is %q", tr.outcome(), cause)
	}
}

// nothingLeft fails if a stream that has returned has left a goroutine or a timer.
func (tr *trial[T]) nothingLeft() {
	if !tr.returned() {
		return
	}
	if left := tr.session.bubble.Left(); len(left) > 0 {
		tr.fail("the stream has returned and left %s running:%s", judge.Count(len(left), "goroutine"), virtual.List(left))
	}
	if left := tr.armed(); left != "" {
		tr.fail("%s", left)
	}
}

// waits returns some instants at which the run was waiting: between its values, and before its end.
func (tr *trial[T]) waits() (all []time.Duration) {
	last := time.Duration(0)
	for _, e := range tr.seen() {
		if e.At-last > 1 && len(all) < 6 {
			all = append(all, last+(e.At-last)/2)
		}
		last = e.At
	}
	return all
}

// outcome describes how the run has ended.
func (tr *trial[T]) outcome() string {
	_, end := tr.history()
	value, exited := tr.crashed()
	switch {
	case tr.endless:
		return "has not ended"
	case value != nil:
		return fmt.Sprintf("has panicked with %v", value)
	case exited:
		return "has called runtime.Goexit"
	case end.Err != nil:
		return fmt.Sprintf("has failed after %v with %q", end.At, end.Err)
	}
	return fmt.Sprintf("has ended after %v", end.At)
}

// relative returns a value of the run; a time is counted from the beginning of the run.
func (tr *trial[T]) relative(v T) any {
	if t, ok := any(v).(time.Time); ok {
		return t.Sub(tr.from)
	}
	return v
}

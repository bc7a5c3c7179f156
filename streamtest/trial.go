package streamtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// trial is one run of a stream under inspection, on its own goroutine.
type trial[T any] struct {
	in     *inspection[T]
	name   string
	stream stream.Stream[T]
	answer func(n int) bool // the result of yield for the n-th value
	ctx    context.Context
	cancel context.CancelCauseFunc
	owner  *virtual.Owner
	from   time.Time

	goroutine atomic.Int64 // the goroutine that runs the stream
	done      chan struct{}
	news      chan struct{} // full when a value has come

	mu       sync.Mutex
	got      []T
	at       []time.Duration
	inYield  bool
	stopped  bool // yield has returned false
	returned bool
	reported map[string]bool

	// For a stream that has returned:
	err      error
	ended    time.Duration
	panicked any
	exited   bool
	endless  bool // it was cancelled, because it had not ended within Check's limits
}

// prepare makes a trial that does not run yet.
func (in *inspection[T]) prepare(name string, st stream.Stream[T], answer func(n int) bool) *trial[T] {
	tr := &trial[T]{
		in: in, name: name, stream: st, answer: answer,
		owner: new(virtual.Owner), done: make(chan struct{}), news: make(chan struct{}, 1), reported: make(map[string]bool),
	}
	if in.system {
		tr.ctx, tr.cancel = context.WithCancelCause(in.session.t.Context())
	} else {
		tr.ctx, tr.cancel, tr.owner = in.session.subscriber()
	}
	return tr
}

// start makes a trial and runs it.
func (in *inspection[T]) start(name string, st stream.Stream[T], answer func(n int) bool) *trial[T] {
	tr := in.prepare(name, st, answer)
	tr.run()
	return tr
}

// run starts the run.
func (tr *trial[T]) run() {
	tr.from = time.Now()
	go func() {
		defer close(tr.done)
		tr.exited = true
		defer func() {
			tr.panicked = recover()
			tr.exited = tr.exited && tr.panicked == nil
			tr.mu.Lock()
			defer tr.mu.Unlock()
			tr.ended = time.Since(tr.from)
			tr.returned = true
		}()
		tr.goroutine.Store(int64(goroutine.Current().ID))
		tr.err = tr.stream(tr.ctx, tr.yield)
		tr.exited = false
	}()
}

func (tr *trial[T]) yield(v T) bool {
	n, ok := tr.enter(v)
	defer tr.leave()
	answer := ok && tr.answer(n)
	if !answer {
		tr.mu.Lock()
		tr.stopped = true
		tr.mu.Unlock()
	}
	return answer
}

// enter records a value, and returns its number and whether the stream was allowed to yield it.
func (tr *trial[T]) enter(v T) (n int, ok bool) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	ok = true
	switch {
	case tr.returned:
		ok = tr.violation("yield was called after the stream had returned")
	case (len(tr.at) < 10 || len(tr.at)%10 == 0) && int64(goroutine.Current().ID) != tr.goroutine.Load():
		// Not checked for each value, because it is slow.
		ok = tr.violation("yield was called on another goroutine than the one that runs the stream")
	case tr.stopped:
		ok = tr.violation("yield was called again after it had returned false")
	}
	if tr.inYield {
		ok = tr.violation("yield was called while another call of it was going on")
	}
	tr.inYield = true
	tr.got = append(tr.got, v)
	tr.at = append(tr.at, time.Since(tr.from))
	select {
	case tr.news <- struct{}{}:
	default:
	}
	return len(tr.at), ok
}

func (tr *trial[T]) leave() {
	tr.mu.Lock()
	tr.inYield = false
	tr.mu.Unlock()
}

// violation reports an error, once for each run, and returns false.
func (tr *trial[T]) violation(what string) bool {
	if !tr.reported[what] {
		tr.reported[what] = true
		tr.in.fail("%s: %s", tr.name, what)
	}
	return false
}

func (tr *trial[T]) hasReturned() bool {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.returned
}

// values returns the number of values so far.
func (tr *trial[T]) values() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return len(tr.at)
}

// wait lets time pass until the stream has returned, at most d.
func (tr *trial[T]) wait(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-tr.done:
	case <-timer.C:
	}
	tr.in.session.bubble.Settle()
}

// until lets time pass until the n-th value has come, or the stream has returned.
func (tr *trial[T]) until(n int) {
	timer := time.NewTimer(mostTime)
	defer timer.Stop()
	for over := false; !over && tr.values() < n; {
		select {
		case <-tr.news:
		case <-tr.done:
			over = true
		case <-timer.C:
			over = true
		}
	}
	tr.in.session.bubble.Settle()
}

// mustReturn fails unless the stream has returned when all goroutines are at rest, without any time passing.
func (tr *trial[T]) mustReturn() {
	tr.in.report.Helper()
	tr.in.session.bubble.Settle()
	if tr.hasReturned() {
		return
	}
	tr.in.fail("%s: the stream does not return at once\n    %s", tr.name, tr.in.session.bubble.Goroutine(int(tr.goroutine.Load())))
}

// mustMatch fails unless the stream has returned an error that matches the cause.
func (tr *trial[T]) mustMatch(cause error) {
	tr.in.report.Helper()
	if tr.hasReturned() && !errors.Is(tr.err, cause) {
		tr.in.fail("%s: it %s; want an error that matches context.Cause(ctx), which is %q", tr.name, tr.end(), cause)
	}
}

// nothingLeft fails if a stream that has returned has left a goroutine or a timer.
func (tr *trial[T]) nothingLeft() {
	tr.in.report.Helper()
	if !tr.hasReturned() {
		return
	}
	s := tr.in.session
	left := s.bubble.Left()
	if len(left) > 0 {
		tr.in.fail("%s: the stream has returned and left %s running:%s", tr.name, count(len(left), "goroutine"), virtual.List(left))
	}
	if timers := s.bubble.Armed(tr.owner); len(timers) > 0 {
		tr.owner.Silent = true
		tr.in.fail("%s: the stream has returned and left %s armed:%s", tr.name, count(len(timers), "timer"), virtual.List(timers))
	}
}

// waits returns some instants at which the run was waiting: between its values, and before its end.
func (tr *trial[T]) waits() (all []time.Duration) {
	last := time.Duration(0)
	for _, at := range append(tr.at[:len(tr.at):len(tr.at)], tr.ended) {
		if at-last > 1 && len(all) < 6 {
			all = append(all, last+(at-last)/2)
		}
		last = at
	}
	return all
}

// end describes how the run has ended.
func (tr *trial[T]) end() string {
	switch {
	case tr.endless:
		return "has not ended"
	case tr.panicked != nil:
		return fmt.Sprintf("has panicked with %v", tr.panicked)
	case tr.exited:
		return "has called runtime.Goexit"
	case tr.err != nil:
		return fmt.Sprintf("has failed after %v with %q", tr.ended, tr.err)
	}
	return fmt.Sprintf("has ended after %v", tr.ended)
}

// relative returns the i-th value; a time is counted from the beginning of the run.
func (tr *trial[T]) relative(i int) any {
	if t, ok := any(tr.got[i]).(time.Time); ok {
		return t.Sub(tr.from)
	}
	return tr.got[i]
}

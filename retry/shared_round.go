package retry

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/stream"
)

// round is one open with the pause before it, on its own goroutine; or the decision about a value that broke before it
// was proven, on that call's.
type round struct {
	done    chan struct{} // closed when it is over
	err     error         // then the error for those who wait; nil: there is a value, or another round will come
	outcome handoff.Outcome
	ctx     context.Context         // of the open
	end     context.CancelCauseFunc // nil for a decision
	due     time.Time               // of the open
	fires   uint64
	pausing bool // it has not begun to open: it ends when all callers have left
	waiting int  // callers
}

// row is what has become of the opens in a row.
type row struct {
	op       *Operation // nil: the next open begins one. A round that has begun to open owns it
	ended    bool       // op has given up: the next open continues its State
	failed   Error      // the last failure, without a Cause
	due      time.Time  // no open begins before
	fires    uint64     // of the policy's signals, at the failure
	dictated bool       // due was dictated
}

// pause returns how long it is until the next open is due.
func (r *row) pause(now time.Time, fires uint64) time.Duration {
	if fires != r.fires { // a signal has ended it
		return 0
	}
	return r.due.Sub(now)
}

// begin begins a round. The caller has the lock.
func (s *Shared[T]) begin(base context.Context) {
	if op := s.row.op; op != nil && op.state.attempts > 0 {
		base = attempt.With(base, op.state.attempts+1)
	}
	r := &round{done: make(chan struct{}), due: s.row.due, fires: s.row.fires, pausing: true}
	r.ctx, r.end = context.WithCancelCause(base)
	s.unproven, s.round = nil, r
	s.busy++
	go s.run(r)
}

// leave ends a caller's wait for a round. It returns the round's error, nil if it has none or is not over, and repeats
// a panic of the round.
func (s *Shared[T]) leave(r *round) error {
	s.mu.Lock()
	if r.waiting--; r.waiting == 0 && r.pausing {
		r.end(nil)
		r.pausing, s.round = false, nil
	}
	s.mu.Unlock()
	select {
	case <-r.done:
		if r.err == nil {
			r.outcome.Raise()
		}
		return r.err
	default:
		return nil
	}
}

// run is a round's goroutine.
func (s *Shared[T]) run(r *round) {
	defer s.done()
	c := s.config
	t := timer.New(c.clockUnder(r.ctx))
	c.wait(r.ctx, &t, r.due.Sub(t.Now()), r.fires)
	s.mu.Lock()
	if r != s.round { // all have left, or Close was called
		s.mu.Unlock()
		return
	}
	op, ended := s.row.op, s.row.ended
	r.pausing, s.row.due = false, time.Time{}
	s.mu.Unlock()
	hooks := context.WithoutCancel(r.ctx)
	switch {
	case op == nil:
		op = new(Operation)
		op.begin(hooks, c)
	case ended:
		next := Policy{c}.Continue(hooks, op.state, op.last)
		op = &next
	default:
		op.ctx, op.timer = hooks, timer.Timer{}
	}
	var left *value[T]
	defer func() {
		if left != nil {
			s.dispose(left)
		}
	}()
	s.settle(r, op, func() { s.attempt(r, op, &left) })
}

// attempt opens a value. *left becomes a value that nobody will use: the new one, until callers get it, or the one that
// it replaces.
func (s *Shared[T]) attempt(r *round, op *Operation, left **value[T]) {
	op.beginAttempt()
	opened, err := s.opened(r, op.theClock())
	if err == nil {
		v := &value[T]{v: opened, end: r.end, opened: op.now()}
		*left = v
		first, _ := s.config.pauseAfter(State{}, nil)
		v.soonest = v.opened.Add(first)
		if s.renewAt != nil {
			v.renew = s.renewAt(opened)
		}
		if !v.renew.IsZero() && v.renew.Before(v.soonest) {
			v.renew = v.soonest
		}
		if s.publish(r, op, v, left) {
			return
		}
	}
	err = ending.Error(r.ctx, err) // AttemptTimeout or Close may have ended it
	r.end(nil)
	s.failed(r, op, Outcome{Err: err})
}

// opened calls open, and ends its context when AttemptTimeout has passed.
func (s *Shared[T]) opened(r *round, clock stream.Clock) (T, error) {
	if d := s.config.attemptTimeout; d >= 0 {
		var over atomic.Bool
		late := clock.AfterFunc(d, func() {
			if over.CompareAndSwap(false, true) {
				r.end(context.DeadlineExceeded)
			}
		})
		defer func() {
			late.Stop()
			if !over.CompareAndSwap(false, true) {
				<-r.ctx.Done() // it is being ended
			}
		}()
	}
	return s.open(r.ctx)
}

// publish makes v the value that callers get, unless its context has ended.
func (s *Shared[T]) publish(r *round, op *Operation, v *value[T], left **value[T]) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.ctx.Err() != nil {
		return false
	}
	old := s.current
	if *left = nil; old != nil && old.users == 0 {
		*left = old
	}
	s.current, s.unproven, s.values = v, v, append(s.values, v)
	s.row.op, s.row.ended = op, false
	s.complete(r, nil)
	return true
}

// failed lets the policy decide about a failure, and ends the round.
func (s *Shared[T]) failed(r *round, op *Operation, f Outcome) {
	next := row{op: op, fires: s.config.fires()}
	delay, end := op.Failed(f)
	if end == nil {
		next.failed = *op.errorOf(nil, op.state.retries-1) // the retry is yet to come
		next.dictated = dictated(f.Err) > 0
	} else {
		next.ended, next.failed = true, *op.errorOf(nil, op.state.retries)
		delay, next.dictated = s.config.pauseAfter(op.state, f.Err)
		_ = op.Done(Outcome{Err: end})
	}
	next.due = op.failedAt().Add(delay)
	s.mu.Lock()
	s.row = next
	s.complete(r, end)
	closed := s.idle != nil
	s.mu.Unlock()
	if closed && end == nil {
		_ = op.Done(Outcome{Err: ErrClosed})
	}
}

// pauseAfter returns the delay of the retry after s, whatever the limits, and whether the failure dictates it. Without a
// failure it is the backoff's.
func (c *config) pauseAfter(s State, failure error) (delay time.Duration, dictates bool) {
	b := &c.curve
	if c.curves != nil && failure != nil {
		b = c.curveFor(failure)
	}
	u := 0.0
	if b.random {
		u = c.draw(b, &s)
	}
	if d := dictated(failure); d > 0 {
		return min(b.Dictated(d, -1, u), time.Hour), true
	}
	return b.After(s.retries+1, s.previous, u), false
}

// settle calls f, which ends the round. If a panic or runtime.Goexit prevents that, settle ends it, as after a permanent
// failure, and those who wait repeat the panic; so does settle if nobody waits, or if it runs on a call's goroutine.
func (s *Shared[T]) settle(r *round, op *Operation, f func()) {
	defer func() {
		if r.outcome.Returned() {
			return
		}
		delay, _ := s.config.pauseAfter(op.state, nil)
		fires, due := s.config.fires(), op.now().Add(delay)
		s.mu.Lock()
		s.row = row{op: op, failed: Error{Last: errNoReturn, Attempts: op.state.attempts + 1}, due: due, fires: fires}
		alone := r.waiting == 0
		s.complete(r, nil)
		s.mu.Unlock()
		if alone || r.end == nil {
			r.outcome.Raise()
		}
	}()
	r.outcome.Of(f)
}

var errNoReturn = errors.New("retry: Shared: open has panicked, or called runtime.Goexit")

// complete ends a round, unless all have left it or Close has ended it. The caller has the lock.
func (s *Shared[T]) complete(r *round, err error) {
	if r == s.round {
		r.err, r.pausing, s.round = err, false, nil
		close(r.done)
	}
}

// shut is the first call of Close.
func (s *Shared[T]) shut() {
	defer s.done()
	s.mu.Lock()
	v, r, op, values := s.current, s.round, s.row.op, slices.Clone(s.values)
	if s.row.ended || r != nil && !r.pausing { // then it is over, or the round's
		op = nil
	}
	s.current, s.unproven, s.row = nil, nil, row{}
	unused := v != nil && v.users == 0
	if r != nil {
		s.complete(r, ErrClosed)
	}
	s.mu.Unlock()
	if r != nil && r.end != nil {
		r.end(ErrClosed)
	}
	for _, v := range values {
		v.end(ErrClosed)
	}
	if op != nil {
		_ = op.Done(Outcome{Err: ErrClosed})
	}
	if unused {
		s.dispose(v)
	}
}

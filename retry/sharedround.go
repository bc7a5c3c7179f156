package retry

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// round is one open with the pause before it, on its own goroutine; or the decision about a value that broke before it
// was proven, on that call's.
type round struct {
	done    chan struct{} // closed when it is over
	err     error         // then the error for those who wait; nil: there is a value, or another round will come
	outcome handoff.Outcome
	ctx     context.Context         // of the open
	end     context.CancelCauseFunc // nil for a decision
	pausing bool                    // it has not begun to open: it ends when all callers have left
	waiting int                     // callers
}

// row is what has become of the opens in a row.
type row struct {
	op       *Operation // nil: the next open continues state. A round that has begun to open owns it
	state    State      // after the last failure
	failure  Error      // the last failure, without a Cause
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
	r := &round{done: make(chan struct{}), pausing: true}
	r.ctx, r.end = context.WithCancelCause(attempt.With(base, s.row.state.attempts+1))
	s.unproven, s.round = nil, r
	s.busy++
	go s.run(r, s.row)
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
func (s *Shared[T]) run(r *round, row row) {
	defer s.done()
	c, t, op := s.config, timer.New(s.config.clockUnder(r.ctx)), row.op
	c.wait(r.ctx, &t, row.due.Sub(t.Now()), row.fires)
	s.mu.Lock()
	if r != s.round { // all have left, or Close was called
		s.mu.Unlock()
		return
	}
	r.pausing, s.row.due = false, time.Time{}
	s.mu.Unlock()
	if hooks := context.WithoutCancel(r.ctx); op != nil {
		op.ctx, op.timer = hooks, timer.Timer{}
	} else {
		next := Policy{c}.Continue(hooks, row.state, row.failure.Last)
		op = &next
	}
	var left *value[T]
	defer func() { s.release(left) }()
	s.settle(r, op, func() { s.attempt(r, op, &left) })
}

// attempt opens a value. *left becomes a value that callers do not get: the new one, until they do, or the one that it
// replaces.
func (s *Shared[T]) attempt(r *round, op *Operation, left **value[T]) {
	op.beginAttempt()
	opened, err := s.opened(r, op)
	if err == nil {
		v := &value[T]{v: opened, end: r.end, opened: op.now()}
		v.users.Store(1)
		s.mu.Lock()
		s.busy, s.values, *left = s.busy+1, append(s.values, v), v
		s.mu.Unlock()
		first, _ := s.config.pauseAfter(State{}, nil)
		v.soonest = v.opened.Add(first)
		if s.renewAt != nil {
			v.renew = s.renewAt(opened)
		}
		s.mu.Lock()
		if r.ctx.Err() == nil {
			*left = s.current.Swap(v)
			s.unproven, s.row.op = v, op
			s.complete(r, nil)
			s.mu.Unlock()
			return
		}
		s.mu.Unlock()
	}
	err = ending.Error(r.ctx, err) // AttemptTimeout or Close may have ended it
	r.end(nil)
	s.failed(r, op, Outcome{Err: err})
}

// opened calls open, and ends its context when AttemptTimeout has passed.
func (s *Shared[T]) opened(r *round, op *Operation) (T, error) {
	if d := s.config.attemptTimeout; d >= 0 {
		timeout, stop := withTimeout(r.ctx, op.theClock(), d)
		pending := context.AfterFunc(timeout, func() { r.end(context.Cause(timeout)) })
		defer func() {
			if !pending() {
				<-r.ctx.Done() // it is being ended
			}
			stop()
		}()
	}
	return s.open(r.ctx)
}

// failed lets the policy decide about a failure, and ends the round.
func (s *Shared[T]) failed(r *round, op *Operation, f Outcome) {
	next := row{op: op, fires: s.config.fires()}
	delay, end := op.Failed(f)
	retries := op.state.retries - 1 // the last one is yet to come
	if next.dictated = dictated(f.Err) > 0; end != nil {
		retries++
		delay, next.dictated = s.config.pauseAfter(op.state, f.Err)
		_ = op.Done(Outcome{Err: end})
		next.op = nil
	}
	next.state, next.failure, next.due = op.state, *op.errorOf(nil, retries), op.failedAt().Add(delay)
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
	b, u := &c.curve, 0.0
	if failure != nil {
		b = c.curveFor(failure)
	}
	if b.random {
		u = c.draw(b, &s)
	}
	if d := dictated(failure); d > 0 {
		return min(b.Dictated(d, -1, u), time.Hour), true
	}
	return b.After(s.retries+1, s.previous, u), false
}

var errNoReturn = errors.New("retry: Shared: open has panicked, or called runtime.Goexit")

// settle calls f, which ends the round. If a panic or runtime.Goexit prevents that, settle ends it, as after a permanent
// failure, and those who wait repeat the panic; so does settle if nobody waits, or if it runs on a call's goroutine.
func (s *Shared[T]) settle(r *round, op *Operation, f func()) {
	defer func() {
		if r.outcome.Returned() {
			return
		}
		now, fires := op.now(), s.config.fires()
		delay, _ := s.config.pauseAfter(op.state, nil)
		if op.running { // no hook learns of it
			op.running = false
			if op.state.attempts++; op.state.first.IsZero() {
				op.state.first = now
			}
		}
		failure := Error{Last: errNoReturn, Attempts: op.state.attempts}
		s.mu.Lock()
		s.row = row{op: op, state: op.state, failure: failure, due: now.Add(delay), fires: fires}
		raise := r.waiting == 0 || r.end == nil
		s.complete(r, nil)
		s.mu.Unlock()
		if raise {
			r.outcome.Raise()
		}
	}()
	r.outcome.Of(f)
}

// complete ends a round, unless all have left it or Close has ended it. The caller has the lock.
func (s *Shared[T]) complete(r *round, err error) {
	if r == s.round {
		r.err, r.pausing, s.round = err, false, nil
		close(r.done)
	}
}

// shut is the first call of Close. The caller has the lock, which shut releases.
func (s *Shared[T]) shut() {
	defer s.done()
	s.idle = make(chan struct{})
	s.busy++
	v, r, op, values := s.current.Swap(nil), s.round, s.row.op, slices.Clone(s.values)
	s.unproven, s.row = nil, row{}
	if r != nil {
		if !r.pausing { // op is the round's
			op = nil
		}
		s.complete(r, ErrClosed)
		if r.end != nil {
			r.end(ErrClosed)
		}
	}
	s.mu.Unlock()
	for _, v := range values {
		v.end(ErrClosed)
	}
	if op != nil {
		_ = op.Done(Outcome{Err: ErrClosed})
	}
	s.release(v)
}

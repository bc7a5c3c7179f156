package retry

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// value is what one open has returned.
type value[T any] struct {
	v       T
	end     context.CancelCauseFunc // ends its life
	opened  time.Time
	soonest time.Time // the next open comes no earlier, although v is proven or to be renewed
	renew   time.Time // of RenewAt; zero: never
	proven  atomic.Bool
	users   atomic.Int64 // calls of f that have it, and one while it is the current value
}

// hold adds a user, unless the last one has gone.
func (v *value[T]) hold() bool {
	for {
		if n := v.users.Load(); n == 0 || v.users.CompareAndSwap(n, n+1) {
			return n > 0
		}
	}
}

// acquire returns a value that the caller must release, and whether it was there. It waits for one until ctx ends.
func (s *Shared[T]) acquire(ctx context.Context) (v *value[T], there bool, err error) {
	if v = s.current.Load(); v == nil || ctx.Err() != nil || !v.hold() {
		v, err = s.wait(ctx)
		return v, false, err
	}
	if !v.renew.IsZero() {
		s.renewAhead(ctx, v)
	}
	return v, true, nil
}

// wait is acquire where there was no value.
func (s *Shared[T]) wait(ctx context.Context) (*value[T], error) {
	c, clock, without := s.config, s.config.clockUnder(ctx), withoutRetries(ctx)
	deadline, limited := ctx.Deadline()
	for {
		base, now, fires, end := openContext(ctx), clock.Now(), c.fires(), ending.ContextError(ctx)
		s.mu.Lock()
		v, failed, rest := s.current.Load(), s.row.failure, s.row.pause(now, fires)
		switch {
		case s.idle != nil:
			s.mu.Unlock()
			return nil, ErrClosed
		case end != nil:
		case v != nil:
			v.hold()
			s.mu.Unlock()
			return v, nil
		case rest <= 0:
		case without:
			end = ErrWithoutRetries
		case s.row.dictated && c.maxRetryAfter >= 0 && rest > c.maxRetryAfter:
			end = reached{ErrMaxRetryAfter, int64(c.maxRetryAfter), rest}
		case limited && rest >= deadline.Sub(now):
			end = ErrDeadline
		}
		if end != nil {
			s.mu.Unlock()
			failed.Cause, failed.Name = end, c.name
			return nil, &failed
		}
		if s.round == nil {
			s.begin(base)
		}
		r := s.round
		r.waiting++
		s.mu.Unlock()
		select {
		case <-r.done:
		case <-ctx.Done():
		}
		if err := s.leave(r); err != nil {
			return nil, err
		}
	}
}

// renewAhead begins an open if it is time to renew v.
func (s *Shared[T]) renewAhead(ctx context.Context, v *value[T]) {
	now := s.config.clockUnder(ctx).Now()
	if now.Before(v.renew) || now.Before(v.soonest) {
		return
	}
	base, fires := openContext(ctx), s.config.fires()
	s.mu.Lock()
	if v == s.current.Load() && s.round == nil && s.row.pause(now, fires) <= 0 {
		s.begin(base)
	}
	s.mu.Unlock()
}

// openContext returns the context of an open that a caller begins.
func openContext(caller context.Context) context.Context {
	return timer.WithClock(context.Background(), timer.ClockFrom(caller))
}

// use calls f with v, and releases v. broken says that f's error has s's mark; end is the error with which the policy
// then gives up, if it does.
func (s *Shared[T]) use(ctx context.Context, v *value[T], f func(context.Context, T) error) (broken bool, end, err error) {
	defer s.release(v)
	if err = f(ctx, v.v); err == nil {
		if !v.proven.Load() {
			s.prove(v)
		}
		return false, nil, nil
	}
	m := found{of: s}
	if !errors.As(err, &m) {
		return false, nil, err
	}
	if err == error(m.mark) {
		err = m.mark.err
	}
	return true, s.breaks(v, m.mark.err), err
}

// prove records that a call has succeeded with v: if v is what the row's last attempt has opened, the row has ended.
func (s *Shared[T]) prove(v *value[T]) {
	var op *Operation
	s.mu.Lock()
	if v == s.unproven {
		op = s.row.op
		s.unproven, s.row = nil, row{}
	}
	s.mu.Unlock()
	v.proven.Store(true)
	if op != nil {
		_ = op.Done(Outcome{})
	}
}

// breaks records that v is broken because of err. If that is a failure with which the policy gives up, it returns the
// error for those who wait for a value.
func (s *Shared[T]) breaks(v *value[T], err error) error {
	fires, r := s.config.fires(), (*round)(nil)
	s.mu.Lock()
	op := s.row.op
	if s.current.CompareAndSwap(v, nil) {
		v.users.Add(-1)
		if v == s.unproven {
			r = &round{done: make(chan struct{})}
			s.unproven, s.round = nil, r
		} else if s.row.failure.Last == nil { // else opens ahead of time have failed, and their row goes on
			s.row = row{failure: Error{Last: err, Attempts: 1}, due: v.soonest, fires: fires}
		}
	}
	s.mu.Unlock()
	v.end(err)
	if r == nil {
		return nil
	}
	s.settle(r, op, func() {
		op.running = false
		s.failed(r, op, Outcome{Err: err, Lasted: op.now().Sub(v.opened)})
	})
	return r.err
}

// release ends a use of v, if it is not nil.
func (s *Shared[T]) release(v *value[T]) {
	if v != nil && v.users.Add(-1) == 0 {
		s.dispose(v)
	}
}

// dispose closes a value that nobody can use any more.
func (s *Shared[T]) dispose(v *value[T]) {
	defer s.done()
	s.mu.Lock()
	s.values = slices.DeleteFunc(s.values, func(other *value[T]) bool { return other == v })
	s.mu.Unlock()
	v.end(nil)
	if s.closeWith != nil {
		s.closeWith(v.v)
	}
}

// done records that a value, a round or Close is over.
func (s *Shared[T]) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy--; s.busy == 0 && s.idle != nil {
		close(s.idle)
	}
}

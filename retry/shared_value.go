package retry

import (
	"context"
	"slices"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/clock"
	"github.com/retrywhen/retrywhen/internal/ending"
)

// value is what one open has returned.
type value[T any] struct {
	v       T
	end     context.CancelCauseFunc // ends its life
	opened  time.Time
	soonest time.Time // the next open comes no earlier, although v is proven
	renew   time.Time // of RenewAt; zero: never
	proven  atomic.Bool
	users   int // calls of f that have it; for Shared.mu
}

// hold makes the caller, who has the lock, a user of v.
func (s *Shared[T]) hold(v *value[T]) {
	v.users++
	s.busy++
}

// acquire returns a value that the caller must release, and whether it was there. It waits for one until ctx ends.
func (s *Shared[T]) acquire(ctx context.Context) (v *value[T], there bool, err error) {
	if ctx.Err() == nil {
		s.mu.Lock()
		if v = s.current; v != nil {
			s.hold(v)
		}
		s.mu.Unlock()
	}
	if v == nil {
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
	clock, without := s.config.clockUnder(ctx), withoutRetries(ctx)
	deadline, limited := ctx.Deadline()
	for {
		base, now, fires, end := openContext(ctx), clock.Now(), s.config.fires(), ending.ContextError(ctx)
		s.mu.Lock()
		v, closed := s.current, s.idle != nil
		if rest := s.row.pause(now, fires); v == nil && end == nil && rest > 0 {
			end = s.config.impatience(rest, s.row.dictated, without, limited, deadline.Sub(now))
		}
		if closed || end != nil {
			err := s.row.failed
			s.mu.Unlock()
			if closed {
				return nil, ErrClosed
			}
			err.Cause, err.Name = end, s.config.name
			return nil, &err
		}
		if v != nil {
			s.hold(v)
			s.mu.Unlock()
			return v, nil
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

// impatience returns why a caller does not wait for the rest of a pause, nil if it does. left is the time until its
// deadline, if it has one.
func (c *config) impatience(rest time.Duration, dictated, without, limited bool, left time.Duration) error {
	switch {
	case without:
		return ErrWithoutRetries
	case dictated && c.maxRetryAfter >= 0 && rest > c.maxRetryAfter:
		return reached{ErrMaxRetryAfter, int64(c.maxRetryAfter), rest}
	case limited && rest >= left:
		return ErrDeadline
	}
	return nil
}

// renewAhead begins an open if it is time to renew v.
func (s *Shared[T]) renewAhead(ctx context.Context, v *value[T]) {
	now := s.config.clockUnder(ctx).Now()
	if now.Before(v.renew) {
		return
	}
	base, fires := openContext(ctx), s.config.fires()
	s.mu.Lock()
	if v == s.current && s.round == nil && s.row.pause(now, fires) <= 0 {
		s.begin(base)
	}
	s.mu.Unlock()
}

// openContext returns the context of an open that a caller begins.
func openContext(caller context.Context) context.Context {
	ctx := context.Background()
	if c := clock.From(caller); !clock.IsSystem(c) {
		ctx = clock.With(ctx, c)
	}
	return ctx
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
	m := findMark(err, s)
	if m == nil {
		return false, nil, err
	}
	if top, ok := err.(*mark); ok && top == m {
		err = m.err
	}
	return true, s.breaks(v, m.err), err
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
	fires := s.config.fires()
	var r *round
	s.mu.Lock()
	op := s.row.op
	if v == s.current {
		s.current = nil
		switch {
		case v == s.unproven:
			r = &round{done: make(chan struct{})}
			s.unproven, s.round = nil, r
		case op == nil: // else opens ahead of time have failed: their row goes on
			s.row = row{failed: Error{Last: err, Attempts: 1}, due: v.soonest, fires: fires}
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

// release ends a use of v.
func (s *Shared[T]) release(v *value[T]) {
	s.mu.Lock()
	if v.users--; v.users > 0 || v == s.current {
		s.returned()
		s.mu.Unlock()
		return
	}
	s.mu.Unlock()
	defer s.done()
	s.dispose(v)
}

// dispose closes a value that nobody can use any more.
func (s *Shared[T]) dispose(v *value[T]) {
	s.mu.Lock()
	s.values = slices.DeleteFunc(s.values, func(other *value[T]) bool { return other == v })
	s.mu.Unlock()
	v.end(nil)
	if s.closeWith != nil {
		s.closeWith(v.v)
	}
}

// done records that something that was busy has returned.
func (s *Shared[T]) done() {
	s.mu.Lock()
	s.returned()
	s.mu.Unlock()
}

// returned is done with the lock.
func (s *Shared[T]) returned() {
	if s.busy--; s.busy == 0 && s.idle != nil {
		close(s.idle)
	}
}

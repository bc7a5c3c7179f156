package operators

import (
	"context"
	"errors"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/retry"
)

// observation is what OnRecovered and OnDone want to know of an item that has failed.
type observation struct {
	began time.Time // its first call
	last  error
}

// observe keeps the observation of an item as long as the item is not finished.
func (r *mapRun[T, U]) observe(v verdict, seq int64, seen *observation) {
	if v == finished {
		delete(r.observed, seq)
	} else {
		r.observed[seq] = *seen
	}
}

// finishLeft calls OnDone for the items that were called and not finished. Nothing else runs any more.
func (r *mapRun[T, U]) finishLeft() {
	finish := func(seq int64, item T, attempts int) {
		if attempts == 0 {
			return
		}
		seen := r.observed[seq]
		ctx := r.ctx
		if r.Context != nil {
			ctx = r.Context(ctx, item)
		}
		r.over(ctx, attempts, &seen, &retry.Error{Cause: ending.ContextError(r.ctx), Last: seen.last, Attempts: attempts, Retries: attempts - 1})
	}
	for i := range r.left {
		finish(r.left[i].seq, r.left[i].item, r.left[i].attempts)
	}
	for j := range r.waiting.all() {
		finish(j.seq, j.item, int(j.row.attempts))
	}
}

// cancelled gives up an item whose own context has ended, after so many retries in a row.
func (r *mapRun[T, U]) cancelled(ctx context.Context, o *outcome[T, U], state *retry.State, seen *observation, retries int) (verdict, int64, int64) {
	at := r.clock.Now()
	end := &retry.Error{Cause: ending.ContextError(ctx), Last: seen.last, Attempts: o.attempts}
	if o.attempts > 0 {
		end.Elapsed, end.Retries = at.Sub(state.First), retries
	}
	if state.Retries > 0 {
		end.Down = at.Sub(state.Since)
	}
	r.over(ctx, o.attempts, seen, end)
	if r.DeadLetter == nil {
		o.dropped = true
	} else {
		o.dead = end
	}
	return finished, int64(at.Sub(r.base)), 0
}

// over calls OnDone for an item that is finished.
func (r *mapRun[T, U]) over(ctx context.Context, attempts int, seen *observation, err error) {
	if !r.observes {
		return
	}
	var elapsed time.Duration
	if r.timed && attempts > 0 {
		elapsed = r.clock.Now().Sub(seen.began)
	}
	r.policy.Done(ctx, attempts, elapsed, err)
}

// deadLetter returns the *retry.Error for a policy's answer to a failure.
func deadLetter(failure, end error, s *retry.State, at time.Time) *retry.Error {
	if e, ok := end.(*retry.Error); ok {
		// A failure that the policy returns as it is can be such an error too, from a retry inside f.
		if inner, ok := errors.AsType[*retry.Error](failure); !ok || inner != e {
			return e
		}
	}
	e := &retry.Error{Cause: retry.ErrRefused, Last: end, Attempts: s.Attempts, Elapsed: at.Sub(s.First), Retries: s.Retries}
	if s.Retries > 0 {
		e.Down = at.Sub(s.Since)
	}
	return e
}

package mapretry

import (
	"context"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/retry"
)

// item is an item of the source and the state of its retries.
type item[T any] struct {
	value T
	seq   int64         // its number in the source, from 0
	calls int           // the number of attempts begun
	state retry.State   // the state after the last failure
	first time.Duration // when the first call began, if the policy times calls
	last  error         // the error of the last failure
}

// restart restarts the count of retries, as a signal of the policy does.
func (it *item[T]) restart(fires uint64) {
	it.state = retry.State{Attempts: it.state.Attempts, First: it.state.First, Fires: fires}
}

// cut records that a call has failed when its context had ended. Its failure counts, and the item is then as one that
// waits for a retry.
func (it *item[T]) cut(ctx context.Context, err error, at time.Time) {
	s := &it.state
	if s.Attempts++; s.Attempts == 1 {
		s.First = at
	}
	if s.Retries++; s.Retries == 1 {
		s.Since = at
	}
	if it.last == nil || !ending.IsOf(ctx, err) {
		it.last = err
	}
}

// cancelled returns the error of an item whose context has ended while it waits.
func (it *item[T]) cancelled(ctx context.Context, at time.Time) *retry.Error {
	s := &it.state
	end := &retry.Error{Cause: ending.ContextError(ctx), Last: it.last, Attempts: s.Attempts, Retries: max(0, s.Retries-1)}
	if s.Attempts > 0 {
		end.Elapsed = at.Sub(s.First)
	}
	if s.Retries > 0 {
		end.Down = at.Sub(s.Since)
	}
	return end
}

// Times are durations since the start of the run.
const (
	unknown = time.Duration(math.MinInt64) // the time is not known: nothing is due at this time
	never   = time.Duration(math.MaxInt64) // no time
	farOff  = never / 4                    // a time that never comes; sums with it do not overflow
)

// after returns the time d after now.
func after(now, d time.Duration) time.Duration { return min(now, farOff) + min(d, farOff) }

// waiting is an item that waits for its next call.
type waiting[T any] struct {
	due  time.Duration
	turn uint64 // the number of the wait: of two items that are due together, the one that has waited longer is first
	item *item[T]
}

// Before is the order of the heap.
func (w waiting[T]) Before(other waiting[T]) bool {
	if w.due != other.due {
		return w.due < other.due
	}
	return w.turn < other.turn
}

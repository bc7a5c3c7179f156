package mapretry

import (
	"math"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// item is an item of the source and the state of its retries.
type item[T any] struct {
	value    T
	seq      int64       // its number in the source, from 0
	attempts int32       // that have begun
	cutOff   bool        // in a call that was cut off by the end of the run
	state    retry.State // the state after the last failure
	last     error       // the error of the last failure, or with which the item has ended
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
	due   time.Duration
	order uint64 // the number of the wait: of two items that are due together, the one that has waited longer is first
	item  *item[T]
}

// Before is the order of the heap.
func (w waiting[T]) Before(other waiting[T]) bool {
	return w.due < other.due || w.due == other.due && w.order < other.order
}

package retry

import (
	"context"
	"iter"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Attempt is one turn of an Attempts loop. It belongs to the loop's goroutine and says nothing after its turn.
type Attempt struct {
	n       int
	last    error // of the attempt before
	failure error // of this one
	reset   bool
}

// N returns the number of this attempt, from 1, counted over the whole loop.
func (a *Attempt) N() int { return a.n }

// Err returns the error that the attempt before this one failed with, nil for the first one.
func (a *Attempt) Err() error { return a.last }

// Fail says that this attempt has failed with err: when the body of the loop is over, the loop waits and then begins
// the next attempt. Fail(nil) says that it went well, which is what a turn without Fail means too. The last call counts.
func (a *Attempt) Fail(err error) { a.failure = err }

// Reset says that this attempt is healthy: its failure will be the first in a new row.
func (a *Attempt) Reset() { a.reset = true }

// Attempts is p as a loop, for code that wants to keep its own control flow:
//
//	for a, err := range policy.Attempts(ctx) {
//		if err != nil {
//			return err // gave up: the loop ends here whatever the body does
//		}
//		conn, err := dial(ctx)
//		if err != nil {
//			a.Fail(err) // waits, then the next attempt
//			continue
//		}
//		a.Reset()           // healthy: the count starts again
//		a.Fail(serve(conn)) // Fail(nil), or no Fail at all, ends the loop
//	}
//
// The first turn comes at once. When there is no further attempt after a failure, the last turn has an error: what Do
// returns then, an *Error or the failure itself. If ctx has ended before the first turn, that is the only one. The
// Attempt is never nil; in the last turn it is the one that failed. A body that leaves the loop is not waited for.
// Breaking out of a turn that has not failed counts as success, and gives the budget its refund.
//
// AttemptTimeout does not touch the loop, for it hands out no context. Each range over the sequence is an operation of
// its own.
func (p Policy) Attempts(ctx context.Context) iter.Seq2[*Attempt, error] {
	return func(yield func(*Attempt, error) bool) {
		op := newOperation(ctx, p)
		a := &Attempt{}
		if ctx.Err() != nil {
			yield(a, op.abandon(ctx, nil))
			return
		}
		for {
			a = &Attempt{n: a.n + 1, last: a.failure}
			began := op.began()
			more := yield(a, nil)
			if a.failure == nil {
				op.config.succeeded()
				return
			}
			if !more {
				return
			}
			if a.reset {
				op.row.restart()
			}
			if err := op.failed(ctx, stream.Failure{Err: a.failure, Lasted: op.lasted(began)}); err != nil {
				yield(a, err)
				return
			}
		}
	}
}

// began returns the time, if the policy asks how long attempts last.
func (o *operation) began() (at time.Time) {
	if o.config.resetAfter > 0 {
		at = o.clock.Now()
	}
	return at
}

// lasted returns how long an attempt lasted that began then, if the policy asks.
func (o *operation) lasted(began time.Time) time.Duration {
	if o.config.resetAfter > 0 {
		return o.clock.Now().Sub(began)
	}
	return 0
}

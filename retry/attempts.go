package retry

import (
	"context"
	"iter"
)

// Attempt is one turn of an Attempts loop. It must be used on the loop's goroutine. After its turn, Fail and Reset have
// no effect.
type Attempt struct {
	n       int
	last    error     // of the attempt before
	failure error     // of this one
	loop    *attempts // nil when the turn is over
}

// N returns the number of this attempt in the whole loop, from 1. It is 0 if ctx had ended before the first one.
func (a *Attempt) N() int { return a.n }

// Err returns the error of the attempt before this one, nil for the first attempt.
func (a *Attempt) Err() error { return a.last }

// Fail records that this attempt has failed with err. When the body of the loop is over, the loop waits and then begins
// the next attempt. Fail(nil) records a success; a turn without Fail is a success too. The last call counts.
func (a *Attempt) Fail(err error) {
	if a.loop != nil {
		a.failure = err
	}
}

// Reset records that this attempt works: if it fails later, that failure is the first in a row. If there were failures
// before, the outage is over and OnRecovered is called. The first Reset of a turn refunds the budget.
func (a *Attempt) Reset() {
	if a.loop != nil {
		a.loop.operation().Reset()
	}
}

// Attempts returns p as a loop, for code that keeps its own control flow:
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
// The first turn begins at once. If there is no further attempt after a failure, the last turn has an error: the error
// that Do would return, an *Error or the failure itself. If ctx has ended before the first turn, there is only that
// last turn. The Attempt is never nil; in the last turn it is the one that failed. If the body leaves the loop, the
// loop does not wait. Leaving the loop in a turn that has not failed is a success. Each turn that succeeds, or in which
// Reset is called, refunds the budget once.
//
// AttemptTimeout does not apply to the loop, because the loop creates no context. Each range over the sequence is an
// operation of its own.
func (p Policy) Attempts(ctx context.Context) iter.Seq2[*Attempt, error] {
	return func(yield func(*Attempt, error) bool) {
		l := &attempts{ctx: ctx, config: p.settings()}
		a, end := &l.first, error(nil)
		if l.config.early || ctx.Err() != nil {
			end = l.operation().Cancelled()
		}
		for end == nil {
			if a.n > 0 {
				a = &Attempt{n: a.n, last: a.failure}
			}
			a.n++
			if l.op != nil {
				l.op.beginAttempt()
			}
			a.loop = l
			more := yield(a, nil)
			a.loop = nil
			if a.failure == nil && l.op == nil {
				l.config.refund(1)
				return
			}
			op := l.operation()
			if a.failure == nil || !more {
				_ = op.Done(Outcome{Err: a.failure})
				return
			}
			end = op.next(a.failure)
		}
		yield(a, l.op.Done(Outcome{Err: end}))
	}
}

// attempts is one run of an Attempts loop.
type attempts struct {
	ctx    context.Context
	config *config
	op     *Operation // nil until it is needed, which it rarely is in a loop that succeeds at once
	first  Attempt
}

// operation returns the operation, which begins now if there is none.
func (l *attempts) operation() *Operation {
	if l.op == nil {
		l.op = new(Operation)
		l.op.begin(l.ctx, l.config)
	}
	return l.op
}

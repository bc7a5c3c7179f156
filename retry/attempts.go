package retry

import (
	"context"
	"iter"
	"time"
)

// Attempt is one turn of an Attempts loop. It must be used on the loop's goroutine. After its turn, Fail and Reset have
// no effect.
type Attempt struct {
	n       int
	last    error // of the attempt before
	failure error // of this one
	reset   bool
	loop    *attempts // nil when the turn is over
}

// N returns the number of this attempt in the whole loop, from 1.
func (a *Attempt) N() int { return a.n }

// Err returns the error of the attempt before this one, nil for the first attempt.
func (a *Attempt) Err() error { return a.last }

// Fail records that this attempt has failed with err. When the body of the loop is over, the loop waits and then begins
// the next attempt. Fail(nil) records a success; a turn without Fail is a success too. The last call counts.
func (a *Attempt) Fail(err error) { a.failure = err }

// Reset records that this attempt works: if it fails later, that failure is the first in a row. If there were failures
// before, the outage is over and OnRecovered is called. The first Reset of a turn refunds the budget.
func (a *Attempt) Reset() {
	if a.loop != nil && !a.reset {
		a.reset = true
		a.loop.recovered()
		a.loop.config.Succeeded(1)
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
		op := &attempts{ctx: ctx, config: p.settings(), first: Attempt{n: 1}}
		over := ctx.Err() != nil
		if over || op.config.timed || op.config.onDone != nil {
			op.begin()
		}
		if over {
			yield(&Attempt{}, op.ended(op.abandon(ctx, 0)))
			return
		}
		for a := &op.first; ; a = (&Attempt{n: a.n + 1, last: a.failure}) {
			a.loop = op
			began := op.now()
			more := yield(a, nil)
			a.loop = nil
			if a.failure == nil {
				op.recovered()
				if !a.reset {
					op.config.Succeeded(1)
				}
				_ = op.ended(nil)
				return
			}
			op.begin()
			if !more {
				op.state.Attempts++
				_ = op.ended(a.failure)
				return
			}
			if err := op.failed(a, op.since(began)); err != nil {
				yield(a, op.ended(err))
				return
			}
		}
	}
}

// attempts is one run of an Attempts loop.
type attempts struct {
	*operation // nil until it is needed, which it rarely is in a loop that succeeds at once
	ctx        context.Context
	config     *config
	first      Attempt
	retries    int       // in this outage; 0 if there is none
	down       time.Time // when it began
}

// begin makes the operation if there is none.
func (o *attempts) begin() {
	if o.operation == nil {
		o.operation = new(operation)
		o.operation.begin(o.ctx, o.config)
	}
}

// now returns the time, if attempts are timed.
func (o *attempts) now() (at time.Time) {
	if o.operation != nil {
		at = o.operation.now()
	}
	return at
}

// ended calls the hooks for the end of the operation, and returns err.
func (o *attempts) ended(err error) error {
	if o.operation != nil {
		return o.done(o.ctx, err)
	}
	return err
}

// failed handles the failure of a turn.
func (o *attempts) failed(a *Attempt, lasted time.Duration) error {
	if a.reset {
		o.state.restart()
	}
	o.question.Err, o.question.Lasted = a.failure, lasted
	err := o.operation.failed(o.ctx, a.reset)
	if o.retries == 0 {
		o.down = o.question.time()
	}
	o.retries++
	return err
}

// recovered ends the outage, if there is one.
func (o *attempts) recovered() {
	if o.retries > 0 {
		o.operation.recovered(o.ctx, o.retries, o.down)
		o.retries = 0
	}
}

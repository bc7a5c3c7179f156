package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// operation is one operation under a policy that waits in place.
type operation struct {
	config    *config
	state     State
	question  question
	last      error // the last failure of this outage, but not the end of ctx
	timer     timer.Timer
	cancelled bool      // ctx has ended
	began     time.Time // for OnDone
}

// begin makes o an operation under ctx; it is zero before.
func (o *operation) begin(ctx context.Context, c *config) {
	clock := c.Clock(ctx)
	o.config, o.timer = c, timer.New(clock)
	q := &o.question
	q.ctx, q.clock = ctx, clock
	q.deadline, _ = ctx.Deadline()
	q.single = withoutRetries(ctx)
	if c.onDone != nil {
		o.began = clock.Now()
	}
}

// failed waits and returns nil when the attempt after the failure in o.question is due, or the error that ends the
// operation. worked says that the failed attempt worked before it failed.
func (o *operation) failed(ctx context.Context, worked bool) error {
	q := &o.question
	q.worked, q.timed = worked, false
	if ctx.Err() != nil {
		o.config.count(&o.state, q)
		if o.last != nil && !worked && ending.IsOf(ctx, q.Err) {
			q.Err = o.last
		}
		err := o.abandon(ctx, o.state.Retries)
		o.config.logEnd(&o.state, q, err)
		return err
	}
	o.last = q.Err
	delay, err := o.config.decide(&o.state, q)
	if err != nil {
		return err
	}
	if o.config.beforeWait != nil {
		o.config.beforeWait(ctx)
	}
	if delay > 0 {
		o.wait(ctx, delay)
	}
	if ctx.Err() != nil {
		q.timed = false
		err := o.abandon(ctx, o.state.Retries-1) // the last attempt was not made
		o.config.logEnded(ctx, o.state.Attempts, err)
		return err
	}
	return nil
}

// abandon returns the error of an operation whose context has ended, after the given number of retries in a row. It
// does not call OnGiveUp, because the caller gave up, not the policy.
func (o *operation) abandon(ctx context.Context, retries int) error {
	o.cancelled = true
	return o.state.failure(&o.question, ending.ContextError(ctx), retries)
}

// wait returns when d > 0 has passed, or one of the policy's signals has fired, or ctx has ended.
func (o *operation) wait(ctx context.Context, d time.Duration) {
	if o.config.signals == nil {
		o.timer.Wait(ctx, d)
		return
	}
	fired := make(chan struct{}, 1)
	stop, _ := o.config.Watch(fired)
	defer stop()
	if o.config.Fires() != o.state.Fires {
		return
	}
	o.timer.Set(d)
	select {
	case <-o.timer.C():
	case <-fired:
	case <-ctx.Done():
	}
	o.timer.Stop()
}

// recovered calls the hooks for an attempt that works, after the given number of retries since the first failure of the
// outage.
func (o *operation) recovered(ctx context.Context, retries int, down time.Time) {
	if retries > 0 && o.config.Observes() && ctx.Err() == nil {
		o.config.Recovered(ctx, o.question.Err, retries, o.question.clock.Now().Sub(down))
	}
}

// done calls the hooks for the end of the operation, and returns err.
func (o *operation) done(ctx context.Context, err error) error {
	if c := o.config; c.onDone != nil {
		attempts := o.state.Attempts
		if err == nil {
			attempts++
		}
		c.Done(ctx, attempts, o.since(o.began), err)
	}
	return err
}

// now returns the time, if attempts are timed.
func (o *operation) now() (at time.Time) {
	if o.config.timed {
		at = o.question.clock.Now()
	}
	return at
}

// since returns the time since the given one, if attempts are timed.
func (o *operation) since(then time.Time) time.Duration {
	if o.config.timed {
		return o.question.clock.Now().Sub(then)
	}
	return 0
}

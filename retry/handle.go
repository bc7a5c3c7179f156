package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/stream"
)

// Handle makes p a stream.RetryHandler: src.RetryWhen(p) runs src again as p decides. The returned stream answers each
// failure with its number, after the delay. If there is no further attempt, it fails with the error that Do would
// return, an *Error or the failure itself; if ctx has ended, with an error that matches context.Cause(ctx). It starts
// no goroutine.
//
//	failures  -1--2-----3---
//	answers   --1---2-------#
//
// Each subscription is one Operation, however its handler contains p: as p itself, embedded in another handler, in a
// function, or in several runs of Handle's stream. Only a handler that is p, or embeds it, also reports a subscription
// that never fails. Handle's stream under a context that is not RetryWhen's is an Operation of its own, which does not
// learn how it ends.
func (p Policy) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	if failures == nil {
		panicf("Policy.Handle", "failures is nil")
	}
	return func(ctx context.Context, yield func(stream.Failure) bool) error {
		s, found := ctx.Value(attempt.SubscriptionKey{}).(*attempt.Subscription)
		if !found {
			s = &attempt.Subscription{Context: ctx, Began: stream.ClockFrom(ctx).Now()}
			defer s.End(nil)
		}
		var (
			o    = p.operationIn(s)
			wait = timer.New(o.op.config.clockUnder(ctx))
			end  error
		)
		err := failures(ctx, func(f stream.Failure) bool {
			failure := attempt.Failure{Err: f.Err, N: f.N, Items: f.Items, Lasted: f.Lasted}
			if !found && ctx.Err() == nil {
				failure.N, failure.At = o.op.state.attempts+1, stream.ClockFrom(ctx).Now().Sub(s.Began)
				s.Failed(&failure, true)
			}
			end = o.next(ctx, &wait, failure)
			return end == nil && yield(stream.Failure{N: f.N})
		})
		if end != nil {
			return end
		}
		return err
	}
}

// subscription is the operation of a subscription to a retried stream. Its methods are called with the subscription's
// lock, except next, Next and decide, which acquire it.
type subscription struct {
	op Operation
	in *attempt.Subscription

	lasted   time.Duration // of the attempt that has failed
	measured bool          // op.start is when the attempt began
	decided  int           // the number of the failure for which there is a decision
	decision
}

// decision is what follows a failure: a retry after a delay, or the end.
type decision struct {
	delay time.Duration
	fires uint64 // of the signals, when it was made
	end   error
}

// operationIn returns p's operation of the subscription, which begins now if there is none.
func (p Policy) operationIn(s *attempt.Subscription) *subscription {
	s.Lock()
	defer s.Unlock()
	c := p.settings()
	for _, other := range s.Observations() {
		if o, ok := other.(*subscription); ok && o.op.config == c {
			return o
		}
	}
	o := &subscription{in: s}
	o.op.beginAt(s.Context, c, s.Began)
	s.Observe(o)
	return o
}

// Observe is called by stream.RetryWhen, which looks for it in the handler. So a handler that embeds p also reports
// subscriptions that never fail.
func (p Policy) Observe(s *attempt.Subscription, handler any, end attempt.End) attempt.Driver {
	c := p.settings()
	switch {
	case end.Attempts == 0:
		o := p.operationIn(s)
		if _, alone := handler.(Policy); alone {
			return o
		}
	case !c.plain:
		var o subscription
		o.op.beginAt(s.Context, c, s.Began)
		if c.onAttempt != nil {
			end.Lasted = o.op.now().Sub(o.op.began)
		}
		o.Ended(end)
	}
	return nil
}

var _ attempt.Observer = Policy{}

// beginAt makes o the operation of a subscription that began at the given time, by the clock of ctx.
func (o *Operation) beginAt(ctx context.Context, c *config, began time.Time) {
	o.begin(ctx, c)
	if o.began = began; c.clock != nil {
		o.began = c.clock.Now().Add(-stream.ClockFrom(ctx).Now().Sub(began))
	}
}

// Next decides about a failure, and waits.
func (o *subscription) Next(f attempt.Failure) error {
	o.op.theClock()
	return o.next(o.op.ctx, &o.op.timer, f)
}

// next returns nil when the attempt after the failure is due, else the error that ends the subscription.
func (o *subscription) next(ctx context.Context, wait *timer.Timer, f attempt.Failure) error {
	if ctx.Err() == nil {
		next := o.decide(f)
		if next.end != nil {
			return next.end
		}
		o.op.config.wait(ctx, wait, next.delay, next.fires)
	}
	if ctx.Err() != nil {
		return ending.ContextError(ctx)
	}
	if c := o.op.config; c.timed && c.clock != nil { // it measures attempts on its own clock
		o.in.Lock()
		defer o.in.Unlock()
		o.op.start, o.measured = o.op.now(), true
	}
	return nil
}

// decide returns the decision about a failure. All runs of Handle's stream get the same one. Two failures get none: one
// that something else in the handler has answered so that a later attempt has failed or works already.
func (o *subscription) decide(f attempt.Failure) decision {
	o.in.Lock()
	defer o.in.Unlock()
	switch n := o.op.state.attempts; {
	case f.N != n && f.N != 0 || o.decided != n && o.op.state.failures == 0:
		return decision{}
	case o.decided != n:
		o.op.last = f.Err
		o.delay, o.end = o.op.decide(&Outcome{Err: f.Err, Items: f.Items, Lasted: o.lasted}, nil)
		o.decided, o.fires = n, o.op.state.fires
	}
	return o.decision
}

func (o *subscription) Failed(f attempt.Failure) {
	outcome := Outcome{Err: f.Err, Items: f.Items, Lasted: o.measuredOr(f.Lasted)}
	if o.op.config.clock == nil {
		outcome.At = o.in.Began.Add(f.At)
	}
	o.op.state.attempts = f.N - 1
	o.op.count(&outcome)
	o.op.last, o.lasted = f.Err, outcome.Lasted
}

// measuredOr returns how long an attempt lasted on the operation's own clock, if it has one and measures attempts.
func (o *subscription) measuredOr(lasted time.Duration) time.Duration {
	if o.measured {
		return o.op.now().Sub(o.op.start)
	}
	return lasted
}

func (o *subscription) Works() { o.op.Works() }

func (o *subscription) Ended(end attempt.End) {
	o.op.running = end.Attempts > o.op.state.attempts
	o.op.done(&Outcome{Err: end.Own, Items: end.Items, Lasted: o.measuredOr(end.Lasted)}, end.Err)
}

func (o *subscription) Aborted() { o.op.endOutage() }

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
// The answers are the failures themselves. Each subscription is one Operation, however its handler contains p. If the
// handler is p or a *Policy, or what p.Around returns, it is reported from its beginning to its end. If the handler is
// a function, or a type of its own that embeds p, p reports from the first failure that Handle's stream receives: the
// numbers are those of the subscription, its times count from that failure, and a failure that something else in the
// handler has answered before is not reported. Several runs of Handle's stream share the Operation, and its decisions.
// Operations of one subscription that have the same budget refund it once.
//
// Outside of RetryWhen, Handle's stream is an Operation of its own, which does not learn how it ends.
func (p Policy) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	notNil("Policy.Handle", "failures", failures == nil)
	return func(ctx context.Context, yield func(stream.Failure) bool) error {
		c := p.settings()
		s, found := ctx.Value(attempt.SubscriptionKey{}).(*attempt.Subscription)
		if !found {
			s = &attempt.Subscription{Context: ctx}
			defer s.End(attempt.Attempt{}, attempt.ErrPanic)
		}
		wait := timer.New(c.clockUnder(ctx))
		n := 0
		var end error
		err := failures(ctx, func(f stream.Failure) bool {
			if end = ending.ContextError(ctx); end != nil {
				return false
			}
			answer := f
			if n++; !found {
				f.N = n
				s.Report(&attempt.Attempt{Err: f.Err, N: n, Items: f.Items, Lasted: f.Lasted})
			}
			o, next := c.receive(s, &f)
			if o == nil {
				return true
			}
			if end = o.after(ctx, &wait, next); end != nil {
				return false
			}
			if found {
				answer.N = f.N
			} else {
				s.Answered()
			}
			return yield(answer)
		})
		if end != nil {
			return end
		}
		return err
	}
}

// Around returns the handler that answers with f's stream, which f makes of the policy's answers. It is how a policy is
// wrapped: with TakeUntilDone, Take or Delay, or a Merge with answers of another kind. It reports all that p itself
// would report, from the beginning to the end, with p's name and clock. What f returns is the handler's stream, with
// the rules of stream.RetryWhen: if it ends, the subscription ends with the failure. To end waits early, use ResetOn. A
// signal that is merged with the answers must bear the failure's N.
//
//	failures            -1--------2---------3-
//	answers             ---1---------2--------
//	answers.Take(1)     ---1|                     the subscription ends with failure 2
//
// f is called once for each subscription, at its first failure. A nil f panics.
func (p Policy) Around(f func(answers stream.Stream[stream.Failure]) stream.Stream[stream.Failure]) stream.RetryHandler {
	notNil("Policy.Around", "f", f == nil)
	return &around{p, f}
}

// around has its policy's Name and Clock, for stream.RetryWhen.
type around struct {
	Policy
	f func(stream.Stream[stream.Failure]) stream.Stream[stream.Failure]
}

func (a *around) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	return a.f(a.Policy.Handle(failures))
}

func observerOf(handler any) (o attempt.Observer, decides bool) {
	switch h := handler.(type) {
	case Policy:
		return h.settings(), true
	case *Policy:
		return h.settings(), true
	case *around:
		return h.settings(), false
	}
	return nil, false
}

// Observe begins the operation of a subscription that is observed from its beginning.
func (c *config) Observe(s *attempt.Subscription) attempt.Observation {
	o := c.join(s)
	o.whole, o.op.began = true, s.Began
	return o
}

// Early reports whether a subscription is observed from its first attempt on.
func (c *config) Early() bool { return c.onWorks != nil }

// Once reports a subscription whose first attempt was its only one.
func (c *config) Once(s *attempt.Subscription, only attempt.Attempt, err error) {
	if c.plain {
		return
	}
	var o observation
	o.op.begin(s.Context, c)
	if o.op.began = s.Began; c.onAttempt != nil {
		only.Lasted = o.op.now().Sub(o.op.began)
	}
	o.Over(only, err)
}

// observation is the operation of a subscription to a retried stream. Its methods are called with the subscription's
// lock, except Next and after.
type observation struct {
	op    Operation
	in    *attempt.Subscription
	whole bool // it counts each failure; else only those that a run of Handle's stream receives

	failure  Outcome // the last one
	measured bool    // op.start is when the attempt began
	decided  int     // the number of the failure for which there is a decision
	decision
}

// decision is what follows a failure: a retry after a delay, or the end.
type decision struct {
	delay time.Duration
	fires uint64 // of the signals, when it was made
	end   error
}

// join begins an operation of the subscription.
func (c *config) join(s *attempt.Subscription) *observation {
	o := &observation{in: s}
	o.op.begin(s.Context, c)
	for _, other := range s.Observations() {
		o.op.refunded = o.op.refunded || c.budget == other.(*observation).op.config.budget
	}
	s.Observe(o)
	return o
}

// receive returns the operation of the subscription and its decision about f, which a run of Handle's stream has
// received. It sets f's number. The operation is nil if something else in the handler has answered the failure.
func (c *config) receive(s *attempt.Subscription, f *stream.Failure) (o *observation, _ decision) {
	s.Lock()
	defer s.Unlock()
	last, waits := s.Last()
	if !waits || f.N != last.N && f.N != 0 {
		return nil, decision{}
	}
	f.N = last.N
	for _, other := range s.Observations() {
		if other := other.(*observation); other.op.config == c {
			o = other
		}
	}
	if o == nil {
		o = c.join(s)
		o.failure = o.outcome(last)
	}
	o.failure.Err, o.failure.Items = f.Err, f.Items
	if o.op.state.attempts != f.N {
		o.count(last)
	}
	return o, o.decide(f.N)
}

// outcome returns how an attempt has ended.
func (o *observation) outcome(a *attempt.Attempt) Outcome {
	end := Outcome{Err: a.Err, Items: a.Items, Lasted: a.Lasted}
	if o.measured {
		end.Lasted = o.op.now().Sub(o.op.start)
	}
	if o.whole {
		end.At = o.in.Began.Add(a.At)
	}
	return end
}

// Next decides about a failure, and waits.
func (o *observation) Next(f *attempt.Attempt) error {
	o.op.theClock()
	return o.after(o.op.ctx, &o.op.timer, o.decide(f.N))
}

// after waits. It returns nil when the attempt is due, else the error that ends the subscription.
func (o *observation) after(ctx context.Context, wait *timer.Timer, d decision) error {
	if d.end != nil {
		return d.end
	}
	o.op.config.wait(ctx, wait, d.delay, d.fires)
	return ending.ContextError(ctx)
}

// decide returns the decision about the n-th failure. All runs of Handle's stream get the same one.
func (o *observation) decide(n int) decision {
	if end := ending.ContextError(o.op.ctx); end != nil { // a hook may have ended it
		return decision{end: end}
	}
	if o.decided != n {
		o.op.last = o.failure.Err
		o.delay, o.end = o.op.decide(&o.failure, nil)
		o.decided, o.fires = n, o.op.state.fires
	}
	return o.decision
}

// count counts the attempt of the failure. Its values were refunded before.
func (o *observation) count(failure *attempt.Attempt) {
	o.skipTo(failure.N - 1)
	o.op.worked = failure.Worked
	f := o.failure
	f.Items = 0
	if o.op.count(&f); !o.op.planned {
		o.op.last = f.Err
	}
}

// skipTo passes over the attempts until the n-th one, of which the operation was not told.
func (o *observation) skipTo(n int) {
	s := &o.op.state
	s.others += n - s.attempts
	s.attempts = n
}

// Count counts a failure, if no run of Handle's stream does.
func (o *observation) Count(f *attempt.Attempt) {
	o.op.refund(f.Items)
	if o.failure = o.outcome(f); o.whole {
		o.count(f)
	}
}

// Begins measures the attempt on the policy's own clock, if RetryWhen does not.
func (o *observation) Begins() {
	if c := o.op.config; c.timed && c.clock != nil && !o.whole {
		o.op.start, o.measured = o.op.now(), true
	}
}

func (o *observation) Works() {
	last, _ := o.in.Last()
	o.skipTo(last.N)
	o.op.Works()
}

// Over ends the operation.
func (o *observation) Over(last attempt.Attempt, err error) {
	if err == attempt.ErrPanic {
		o.op.endOutage()
		return
	}
	if s := &o.op.state; s.attempts < last.N {
		if o.skipTo(last.N - 1); last.Reported { // something else was to answer it
			s.attempts++
		}
	}
	o.op.running = !last.Reported
	end := o.outcome(&last)
	o.op.done(&end, err)
}

func init() {
	attempt.ObserverOf = observerOf
	attempt.EngineOf = func(policy any) attempt.Engine {
		c := policy.(Policy).settings()
		return attempt.Engine{Plain: c.plain, Fires: c.fires, Notify: c.notify, Stop: c.stop}
	}
	attempt.WaitFor = func(ctx context.Context, policy any, failure error, d time.Duration) error {
		return policy.(Policy).waitFor(ctx, failure, d)
	}
	attempt.EndError = func(operation any, cause error) error {
		o := operation.(*Operation)
		return o.errorOf(cause, o.state.retries)
	}
}

// waitFor waits for d, which failure dictates to other operations too: as long as before a retry, but none is counted
// and no hook is called. It returns nil when the time has passed or a signal has fired, else an *Error.
func (p Policy) waitFor(ctx context.Context, failure error, d time.Duration) error {
	c, with := empty, p.settings()
	c.curve, c.curves, c.maxRetryAfter, c.name, c.signals, c.clock, c.rand =
		with.curve, with.curves, with.maxRetryAfter, with.name, with.signals, with.clock, with.rand
	var o Operation
	o.begin(ctx, &c)
	o.allowed = true // under WithoutRetries too
	end := o.next(RetryAfter(failure, d))
	if e, ok := end.(*Error); ok {
		e.Last = failure
	}
	return end
}

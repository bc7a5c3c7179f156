package retry

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// Handle makes p a stream.RetryHandler: src.RetryWhen(p) runs src again as p decides. Each subscription is an Operation
// of its own. Handle waits on the subscriber's goroutine and starts none. The returned stream answers each failure with
// its number. If there is no further attempt, it fails with the error that Do would return, an *Error or the failure
// itself; if ctx has ended, with an error that matches context.Cause(ctx).
//
//	failures  -1--2-----3---
//	answers   --1---2-------#
//
// If p.Handle is passed as a function, RetryWhen does not know that it is a Policy: only the values of failed attempts
// refund the budget, OnRecovered and OnDone are not called, and Log does not log the end of an outage.
func (p Policy) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	if failures == nil {
		panicf("Policy.Handle", "failures is nil")
	}
	return func(ctx context.Context, yield func(stream.Failure) bool) error {
		var (
			op, part = p.handling(ctx)
			timed    = op.config.timed && op.config.clock != nil
			answered bool
			at       time.Time // of the answer
			end      error
		)
		defer op.outageOver()
		err := failures(ctx, func(f stream.Failure) bool {
			outcome := Outcome{Err: f.Err, Items: f.Items, Lasted: f.Lasted}
			if timed && answered {
				outcome.Lasted = op.now().Sub(at)
			}
			if end = op.handle(&outcome, part); end != nil {
				return false
			}
			if answered = true; timed {
				at = op.now()
			}
			return yield(stream.Failure{N: f.N})
		})
		if end != nil {
			return end
		}
		return err
	}
}

// part is what a run of Handle's stream has to do with a failure, apart from the decision.
type part uint8

const (
	decides part = iota // the subscription has noted it
	notes
	notesAndRefunds // nobody else does
)

// handle decides about a failure and waits. A cancellation is returned without the failure, which RetryWhen adds.
func (o *Operation) handle(f *Outcome, part part) error {
	if part == notesAndRefunds {
		o.config.refund(f.Items)
	}
	if part != decides {
		o.note(f)
	}
	o.last = f.Err
	if o.ctx.Err() == nil {
		delay, end := o.decide(f, false)
		if end != nil {
			return end
		}
		if delay > 0 {
			o.wait(delay)
		}
		if o.config.onAttempt != nil {
			o.start = o.now()
		}
	}
	return ending.ContextError(o.ctx)
}

// handling returns the operation for a run of Handle's stream under ctx, and the run's part. Normally the operation is
// that of the subscription, which notes each failure before the handler receives it. If the handler runs Handle's stream
// in another way than directly, or again, each run has an operation of its own.
func (p Policy) handling(ctx context.Context) (*Operation, part) {
	c := p.settings()
	if s, ok := ctx.(*subscription); ok && s.op.config == c && !s.handled {
		s.handled = true
		return &s.op, decides
	}
	o := &Operation{deaf: true}
	o.begin(ctx, c)
	if s, ok := ctx.Value(subscriptionKey{}).(*subscription); ok && s.op.config == c { // it refunds
		return o, notes
	}
	return o, notesAndRefunds
}

// A Policy observes the attempts. A handler that wraps a Policy should embed it, because RetryWhen looks for Observe in
// the handler itself.
var _ stream.RetryObserver = Policy{}

// Observe is called by stream.RetryWhen. It returns what calls p's hooks and refunds its budget for one subscription,
// nil if p has none, and the context under which Handle's stream finds it.
func (p Policy) Observe(s stream.RetrySubscription) (context.Context, stream.RetryObservation) {
	c := p.settings()
	switch {
	case c.budget == nil && c.onRecovered == nil && c.onDone == nil && c.onAttempt == nil && c.onOutage == nil && !c.logs:
		return s.Context, nil
	case s.Over:
		return s.Context, undisturbed{c}
	}
	o := &subscription{Context: s.Context}
	o.op.observe(s.Context, c, s.Began)
	return o, o
}

// observe makes o the operation of a subscription that began at the given time, by the clock of ctx.
func (o *Operation) observe(ctx context.Context, c *config, began time.Time) {
	o.begin(ctx, c)
	if o.began = began; c.clock != nil {
		o.began = c.clock.Now().Add(-stream.ClockFrom(ctx).Now().Sub(began))
	}
}

// undisturbed is a subscription that is over without a failure for the handler.
type undisturbed struct{ config *config }

func (undisturbed) Works()                {}
func (undisturbed) Failed(stream.Failure) {}

func (u undisturbed) Ended(end stream.RetryEnd) {
	var o Operation
	o.observe(end.Context, u.config, end.Began)
	var lasted time.Duration
	if u.config.onAttempt != nil {
		lasted = o.now().Sub(o.began)
	}
	o.ended(end, lasted)
}

// subscription is a subscription that has failed. It is the context of the handler's stream, so that Handle finds it.
type subscription struct {
	context.Context // the subscriber's
	op              Operation
	handled         bool // a run of Handle's stream uses op
}

type subscriptionKey struct{}

// Value returns the subscription itself for its key.
func (s *subscription) Value(key any) any {
	if key == (subscriptionKey{}) {
		return s
	}
	return s.Context.Value(key)
}

// String describes the context in the form that package context uses.
func (s *subscription) String() string { return fmt.Sprint(s.Context) }

func (s *subscription) Works() { s.op.Works() }

func (s *subscription) Failed(f stream.Failure) {
	s.op.config.refund(f.Items)
	s.op.note(&Outcome{Err: f.Err, Items: f.Items, Lasted: f.Lasted})
	s.op.last = f.Err
}

func (s *subscription) Ended(end stream.RetryEnd) { s.op.ended(end, 0) }

// ended ends the operation of a subscription. lasted is how long the last attempt ran, 0 if it is to be computed.
func (o *Operation) ended(end stream.RetryEnd, lasted time.Duration) {
	o.running = end.Attempts > o.state.attempts
	_ = o.Done(Outcome{Err: end.Err, Items: end.Items, Lasted: lasted})
}

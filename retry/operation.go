package retry

import (
	"context"
	"log/slog"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/timer"
	"github.com/retrywhen/retrywhen/stream"
)

// Operation is one operation under a policy, for code that makes the attempts and waits in its own way: an engine with
// many operations at once, or a job queue that stores the State between two attempts. The Operation decides, counts,
// calls the hooks, logs, and refunds the budget. Do, Run, Attempts, a retried stream, operators.MapRetry, HTTP and gRPC
// clients and the durable queue are written with it:
//
//	op := policy.Start(ctx)
//	for {
//		attempt, cancel := op.Attempt(ctx)
//		err := call(attempt)
//		cancel()
//		if err == nil {
//			return op.Done(retry.Outcome{})
//		}
//		delay, end := op.Failed(retry.Outcome{Err: err})
//		if end == nil {
//			end = op.Wait(delay)
//		}
//		if end != nil {
//			return op.Done(retry.Outcome{Err: end})
//		}
//	}
//
// Its steps:
//
//	f(ctx)             the attempt: a call, a turn of the loop, a run of the source
//	Operation.Failed   decide.go:
//	    count              counts the attempt and its values, and calls OnAttempt
//	    decide             returns the delay of the next retry, or the error with which the operation ends:
//	        delay              from the backoff, or dictated by the failure
//	        budget.take        a token
//	        retrying           calls OnOutage, Log and OnRetry; or giveUp: Log and OnGiveUp
//	Operation.Wait     the one place that waits
//	Operation.Done     the hooks of the end
//
// A stream whose handler contains a policy, but is not one, has the same Operation: its failures go through the handler
// (stream/failures.go) to the stream of [Policy.Handle], which decides and waits. To change a policy's answers, wrap it
// with [Policy.Around]: only so it reports the whole subscription. What can be stored of an Operation is a [State].
//
// An Operation is made by Start or Continue; the zero Operation panics. It must be used on one goroutine at a time, and
// not be copied after its first use.
type Operation struct {
	config     *config
	ctx        context.Context // of the operation and of its hooks
	timer      timer.Timer     // zero until the time is needed
	began      time.Time       // for OnDone
	start      time.Time       // when the attempt began, if attempts are timed
	at         time.Time       // of the last failure; zero until it is needed, which without waits is rare
	state      State
	last       error    // the last failure of the outage, but not the end of ctx, nor a planned end
	outageEnds []func() // what OnOutage's hooks have returned for the present outage, nil too

	allowed  bool // a retry was: the context is none of WithoutRetries
	running  bool // an attempt was begun, and has not ended
	reset    bool // Reset was called in it
	worked   bool // it was recorded to work
	planned  bool // the last attempt that failed was a planned end
	refunded bool // another operation refunds the budget
	logged   int  // 0 until a retry of this outage was logged, and when its end was; else one more than its marks then
}

// Outcome describes how an attempt or an operation has ended. The zero Outcome is a success.
type Outcome struct {
	// Err is nil for a success.
	Err error
	// Items is the number of values that the attempt has delivered, 0 for a call.
	Items int64
	// Lasted is how long the attempt ran. If it is 0 and the policy needs it, it is the time since Attempt.
	Lasted time.Duration
	// At is when the attempt failed. If it is the zero Time, it is the present, by the policy's clock. Done ignores it.
	At time.Time
}

// Start begins an operation under p. The hooks receive ctx, and its end ends the operation.
func (p Policy) Start(ctx context.Context) (o Operation) {
	o.begin(ctx, p.settings())
	return o
}

// Continue continues an operation whose State was stored before a retry. last is its last failure, for the hooks and
// for the error with which it may end; nil if it is not known. Continue with the zero State is Start.
func (p Policy) Continue(ctx context.Context, s State, last error) (o Operation) {
	c := p.settings()
	if o.begin(ctx, c); s.attempts == 0 {
		return o
	}
	o.state, o.last = s, last
	if s.fires == 0 { // it comes from a text
		o.state.fires = c.fires()
	}
	if c.onDone != nil && s.hasFailed() {
		o.began = s.first.Add(-s.lead)
	}
	if c.logs && s.failures > 0 && s.retries > 0 {
		o.logged = 1 + marks(o.now().Sub(s.outageBegan()))
	}
	return o
}

// mustHaveBegun panics for the zero Operation.
func (o *Operation) mustHaveBegun() {
	if o.config == nil {
		panicf("Operation", "the zero Operation, want one that Policy.Start or Policy.Continue returns")
	}
}

// begin makes o an operation under ctx; it is zero before.
func (o *Operation) begin(ctx context.Context, c *config) {
	o.config, o.ctx = c, ctx
	if c.onDone != nil {
		o.began = o.now()
	}
}

// now returns the time of the policy's clock.
func (o *Operation) now() time.Time { return o.theClock().Now() }

func (o *Operation) theClock() stream.Clock {
	o.mustHaveBegun()
	if o.timer.Clock() == nil {
		o.timer = timer.New(o.config.clockUnder(o.ctx))
	}
	return o.timer.Clock()
}

// State returns what must be stored to Continue the operation later. An outage is over for OnOutage's hooks; the next
// failure that is retried begins it again.
func (o *Operation) State() State {
	o.endOutage()
	return o.state
}

// Attempt begins the next attempt and returns its context, derived from ctx: it carries the number of a retry
// (stream.AttemptFrom), and ends at the policy's AttemptTimeout. The returned function releases the context and must be
// called when the attempt is over. For a first attempt without a timeout the context is ctx itself.
func (o *Operation) Attempt(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = o.Begin(ctx)
	if o.config.attemptTimeout < 0 {
		return ctx, func() {}
	}
	return withTimeout(ctx, o.theClock(), o.config.attemptTimeout)
}

// Begin is Attempt for an attempt that AttemptTimeout does not limit, such as a call whose response is a stream.
func (o *Operation) Begin(ctx context.Context) context.Context {
	if n := o.beginAttempt(); n > 1 {
		ctx = attempt.With(ctx, n)
	}
	return ctx
}

// beginAttempt returns the number of the attempt.
func (o *Operation) beginAttempt() int {
	o.mustHaveBegun()
	o.running, o.reset, o.worked = true, false, false
	if o.config.timed {
		o.start = o.now()
	}
	return o.state.attempts + 1
}

// Works records that the attempt works before it ends, for example by a stream's first value or heartbeat. Only the
// first call in an attempt has an effect. If there were failures before, the outage is over and OnRecovered is called;
// then OnWorks is called. Both are not called once the operation's context has ended. A call that succeeds needs only
// Done.
func (o *Operation) Works() {
	if o.worked {
		return
	}
	o.mustHaveBegun()
	o.worked = true
	if o.state.failures > 0 {
		o.recovered()
	}
	if hooks := o.config.onWorks; hooks != nil && o.ctx.Err() == nil {
		for _, hook := range hooks {
			hook(o.ctx, o.state.attempts+1)
		}
	}
}

// recovered ends the outage.
func (o *Operation) recovered() {
	last, retries := o.last, o.state.failures
	o.last, o.state.failures = nil, 0
	o.endOutage()
	c := o.config
	if (c.onRecovered == nil && !c.logs) || o.ctx.Err() != nil {
		return
	}
	o.logged = 0
	r := Recovery{Retries: retries, Down: o.now().Sub(o.state.outageBegan()), Last: last}
	c.log(o.ctx, slog.LevelInfo, "recovered", slog.Int("retries", r.Retries), slog.Duration("down", r.Down.Round(time.Microsecond)),
		slog.Any("last", r.Last))
	for _, hook := range c.onRecovered {
		hook(o.ctx, r)
	}
}

// Reset records that the attempt works, as Works does, and restarts the count: if the attempt fails later, that failure
// is the first in a row. The first Reset of an attempt refunds the budget; the attempt's success then does not.
func (o *Operation) Reset() {
	if !o.reset {
		o.reset = true
		o.Works()
		o.refund(1)
	}
}

// refund refunds the budget for n successes.
func (o *Operation) refund(n int64) {
	if !o.refunded {
		o.config.refund(n)
	}
}

// failedAt returns when the last attempt failed.
func (o *Operation) failedAt() time.Time {
	if o.at.IsZero() {
		o.at = o.now()
	}
	return o.at
}

// Wait waits for d, a delay that Failed has returned, on the policy's clock. A signal of the policy ends the wait. Wait
// returns nil when the next attempt is due, else the *Error of an operation whose context has ended. An engine that
// waits in its own way calls Cancelled in its place.
func (o *Operation) Wait(d time.Duration) error {
	if d > 0 {
		if o.theClock(); o.state.fires == 0 {
			o.state.fires = o.config.fires()
		}
		o.config.wait(o.ctx, &o.timer, d, o.state.fires)
	}
	return o.Cancelled()
}

// wait returns when d has passed, or ctx has ended, or the policy's signals have fired since the given number of fires.
func (c *config) wait(ctx context.Context, t *timer.Timer, d time.Duration, fires uint64) {
	switch {
	case d <= 0:
		return
	case c.signals == nil:
		_ = t.Wait(ctx, d)
		return
	}
	fired := make(chan struct{}, 1)
	c.notify(fired)
	defer c.stop(fired)
	if c.fires() != fires {
		return
	}
	t.Set(d)
	select {
	case <-t.C():
	case <-fired:
	case <-ctx.Done():
	}
	t.Stop()
}

// Cancelled returns nil until the operation's context has ended, then the operation's *Error. It is called before an
// attempt, so the retry for which the operation has waited does not count.
func (o *Operation) Cancelled() error {
	o.mustHaveBegun()
	cancelled := ending.ContextError(o.ctx)
	if cancelled == nil {
		return nil
	}
	retries := o.state.retries
	switch {
	case o.config.signals != nil && o.fired():
		o.state.restart()
		retries = 0
	case !o.running && !o.planned:
		retries = max(0, retries-1)
	}
	o.at = time.Time{}
	return o.errorOf(cancelled, retries)
}

// Done ends the operation, calls OnDone, and returns end.Err. Without an error the last attempt has succeeded: the
// budget is refunded, once for each of end.Items, at least once, and OnRecovered is called if there were failures. An
// error is what Failed, Refused, Wait or Cancelled has returned; or the last attempt's own, if the operation ends with
// it whatever the policy says. Nothing may be called on o afterwards.
func (o *Operation) Done(end Outcome) error {
	o.done(&end, end.Err)
	return end.Err
}

// done ends the operation with err. last is the attempt that was not reported, if there is one.
func (o *Operation) done(last *Outcome, err error) {
	o.mustHaveBegun()
	c, attempts := o.config, o.state.attempts
	retries := attempts - o.state.others
	if err == nil || o.running {
		attempts++
		o.planned = o.isPlanned(last)
		if last.Lasted == 0 && c.onAttempt != nil && !o.start.IsZero() {
			last.Lasted = o.now().Sub(o.start)
		}
		o.reportAttempt(attempts, last)
	} else if !o.planned { // the last failure has no retry
		retries--
	}
	switch {
	case err == nil:
		if !o.reset {
			o.refund(max(1, last.Items))
		}
		o.Works()
	case o.running:
		o.refund(last.Items)
	}
	o.endOutage()
	if o.logged > 0 { // and neither a recovery nor that the policy gave up
		c.log(o.ctx, slog.LevelInfo, "retries ended", slog.Int("attempts", attempts), slog.Any("error", err))
	}
	if c.onDone == nil {
		return
	}
	if last.Lasted > 0 && o.state.attempts == 0 {
		o.beganBefore(o.now().Add(-last.Lasted))
	}
	r := Result{Err: err, Attempts: attempts, Retries: max(0, retries), Elapsed: o.now().Sub(o.began)}
	for _, hook := range c.onDone {
		hook(o.ctx, r)
	}
}

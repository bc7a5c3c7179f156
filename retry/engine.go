package retry

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/engine"
	"github.com/retrywhen/retrywhen/stream"
)

// The exported methods of config are for this repository's own engines.
var _ engine.Policy[State] = (*config)(nil)

func init() {
	engine.Register(func(p any) any { return p.(Policy).settings() }, func(p any, f func(context.Context)) any {
		return p.(Policy).With(func(c *config) { c.beforeWait = f })
	})
}

func (c *config) Clock(ctx context.Context) stream.Clock {
	if c.clock != nil {
		return c.clock
	}
	return stream.ClockFrom(ctx)
}

func (c *config) AttemptContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.attemptTimeout < 0 {
		return ctx, func() {}
	}
	return withTimeout(ctx, c.Clock(ctx), c.attemptTimeout)
}

func (c *config) TimesAttempts() bool { return c.timed }

func (c *config) Observes() bool {
	return c.onRecovered != nil || c.onDone != nil || c.logger != nil
}

func (c *config) Decide(ctx context.Context, s *State, f stream.Failure, at, deadline time.Time) (time.Duration, error) {
	q := question{
		ctx: ctx, deadline: deadline, single: withoutRetries(ctx),
		Failure: f, worked: f.Items > 0, at: at, timed: true,
	}
	return c.decide(s, &q)
}

func (c *config) Succeeded(items int64) { c.refund(max(1, items)) }

// refund refunds the budget for n successes.
func (c *config) refund(n int64) {
	if c.budget != nil && n > 0 {
		c.budget.succeeded(n)
	}
}

func (c *config) Recovered(ctx context.Context, last error, retries int, down time.Duration) {
	r := Recovery{Retries: retries, Down: down, Last: last}
	c.logRecovered(ctx, &r)
	for _, hook := range c.onRecovered {
		hook(ctx, r)
	}
}

func (c *config) Done(ctx context.Context, attempts int, elapsed time.Duration, err error) {
	for _, hook := range c.onDone {
		hook(ctx, Result{Err: err, Attempts: attempts, Retries: max(0, attempts-1), Elapsed: elapsed})
	}
}

func (c *config) Watch(fired chan<- struct{}) (stop func(), ok bool) {
	if c.signals == nil {
		return func() {}, false
	}
	for _, s := range c.signals {
		s.join(fired)
	}
	return func() {
		for _, s := range c.signals {
			s.leave(fired)
		}
	}, true
}

func (c *config) Fires() (n uint64) {
	if c.signals != nil {
		n = 1 // 0 is unknown
	}
	for _, s := range c.signals {
		n += s.count()
	}
	return n
}

func (c *config) Quiet() engine.Policy[State] {
	quiet := *c
	quiet.quiet = true
	return &quiet
}

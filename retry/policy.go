package retry

import (
	"context"
	"log/slog"
	"math"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/stream"
)

// Policy decides, for each failure, whether and when to try again. It is an immutable value: With returns a changed
// copy, and any number of goroutines may use the same Policy. The state of one operation is kept separately, in a
// State. A Policy is a stream.RetryHandler.
//
// The zero Policy is Default. New(backoff.Backoff{}) retries at once, until ctx ends.
type Policy struct {
	config *config // never changed; nil in the zero Policy
}

// config holds the options. A negative number means "not set".
type config struct {
	early  bool    // an operation is needed before the first attempt
	budget *Budget // with early it is all that a first success of Do reads, so they come first

	curve
	curves          []curve // of BackoffFor
	limit           int64
	limits          []limit // of LimitFor
	within          time.Duration
	stopAt          time.Duration
	attemptTimeout  time.Duration
	resetAfter      time.Duration
	resetAfterItems int64
	maxRetryAfter   time.Duration
	retryable       func(error) bool
	beforeFirstItem bool
	onRetry         []func(context.Context, Event)
	onGiveUp        []func(context.Context, *Error)
	onRecovered     []func(context.Context, Recovery)
	onWorks         []func(ctx context.Context, attempt int)
	onDone          []func(context.Context, Result)
	onAttempt       []func(context.Context, AttemptEnd)
	onOutage        []func(context.Context, error) (over func())
	name            string
	logs            bool
	logger          *slog.Logger // nil: slog.Default() at the time it logs
	quiet           bool         // the logger gets all at DEBUG
	signals         []*Signal
	clock           stream.Clock
	rand            func() float64
	timed           bool // attempts are timed, because another field needs it
	plain           bool // it is needed only for a failure: see attempt.Engine
}

// Default makes at most five attempts, about 1, 2, 4 and 8 s apart, each ±15 %, and ends with ErrLimit. An error may
// dictate each wait (RetryAfter), up to a minute: then Default takes about five minutes. If an error dictates more than
// a minute, Default gives up at once with ErrMaxRetryAfter; an HTTP client then returns the response. To wait longer,
// use Default.With(MaxRetryAfter(10*time.Minute)); math.MaxInt64 is no limit. The figures are those of "Exponential
// Backoff" (LispCast).
//
// Default has no budget, because the calls of a program go to different servers, and a budget is one server's. For
// calls of one server, add one that they share: Default.With(WithBudget(NewBudget(10, 1, 0.1))). Default is for calls;
// the policy of a feed that must come back after any outage has no Limit, and its backoff a Cap.
var Default = Policy{standard}

// standard is Default's config, and empty one without an option.
var (
	standard = empty.with(WithBackoff(backoff.Exponential(time.Second, 2).Jitter(jitter.Default)), Limit(4), MaxRetryAfter(time.Minute))
	empty    = config{plain: true}.cleared()
)

// cleared returns a copy without the options that are numbers.
func (c config) cleared() config {
	for _, s := range settings {
		s.clear(&c)
	}
	return c
}

// New returns the policy with the backoff b and the given options. Without Limit, Within or StopAt it retries until ctx
// ends. Hooks, signals and BackoffFor given several times are all used; of every other option the last one counts.
func New(b backoff.Backoff, opts ...Option) Policy {
	return Policy{empty.with(WithBackoff(b), join("New", opts))}
}

// With returns a copy of p with the given options. p is unchanged.
func (p Policy) With(opts ...Option) Policy {
	return Policy{p.settings().with(join("With", opts))}
}

// with returns a changed copy.
func (c config) with(opts ...Option) *config {
	for _, o := range opts {
		o(&c)
	}
	if c.quiet {
		c.onOutage = nil
	}
	c.timed = c.resetAfter > 0 || c.onRetry != nil || c.onDone != nil || c.onAttempt != nil || c.logs
	c.early = c.timed || c.attemptTimeout >= 0 || c.onWorks != nil
	c.plain = !c.early && c.budget == nil && c.onRecovered == nil && c.onOutage == nil
	return &c
}

// Name returns the policy's name, "" if it has none.
func (p Policy) Name() string { return p.settings().name }

// Backoff returns the policy's backoff.
func (p Policy) Backoff() backoff.Backoff { return p.settings().Backoff }

// Budget returns the policy's budget, and whether it has one.
func (p Policy) Budget() (b *Budget, set bool) {
	b = p.settings().budget
	return b, b != nil
}

// Limit returns the maximum number of retries in a row, and whether there is one.
func (p Policy) Limit() (retries int, set bool) {
	n, set := theLimit.of(p)
	return int(min(n, math.MaxInt)), set
}

// Within returns how long after the first failure in a row a retry may start, and whether there is a limit.
func (p Policy) Within() (d time.Duration, set bool) { return theWithin.of(p) }

// StopAt returns the delay at which the policy gives up, and whether it is set.
func (p Policy) StopAt() (d time.Duration, set bool) { return theStopAt.of(p) }

// AttemptTimeout returns the timeout of each call, and whether it is set.
func (p Policy) AttemptTimeout() (d time.Duration, set bool) { return theAttemptTimeout.of(p) }

// MaxRetryAfter returns the longest delay that an error may dictate, and whether there is a limit.
func (p Policy) MaxRetryAfter() (d time.Duration, set bool) { return theMaxRetryAfter.of(p) }

// Clock returns the clock that p uses under ctx: its own (WithClock), else that of ctx, else the system clock.
func (p Policy) Clock(ctx context.Context) stream.Clock { return p.settings().clockUnder(ctx) }

func (c *config) clockUnder(ctx context.Context) stream.Clock {
	if c.clock != nil {
		return c.clock
	}
	return stream.ClockFrom(ctx)
}

// refund refunds the budget for n successes.
func (c *config) refund(n int64) {
	if c.budget != nil && n > 0 {
		c.budget.add(c.budget.refund * float64(n))
	}
}

func (p Policy) settings() *config {
	if p.config == nil {
		return standard
	}
	return p.config
}

// curve is a backoff for the failures that match accepts; for all others if match is nil.
type curve struct {
	backoff.Backoff
	match  func(error) bool
	waits  bool // else it is the zero Backoff
	random bool
}

func curveOf(b backoff.Backoff, match func(error) bool) curve {
	return curve{b, match, b != backoff.Backoff{}, b.IsRandom()}
}

// curveFor returns the curve for the delay after a failure.
func (c *config) curveFor(failure error) *curve {
	for i := len(c.curves) - 1; i >= 0; i-- {
		if c.curves[i].match(failure) {
			return &c.curves[i]
		}
	}
	return &c.curve
}

// draw returns the random number for the next retry after the curve's delay: one for each retry, under Tiled one for
// the retries in a row.
func (c *config) draw(b *curve, s *State) float64 {
	if !b.IsTiled() {
		return c.drawFrom(rand.Float64)
	}
	if s.place == 0 {
		s.setPlace(c.drawFrom(places.next))
	}
	return math.Float64frombits(s.place - 1)
}

// drawFrom draws from the policy's own source, else from the given one.
func (c *config) drawFrom(source func() float64) float64 {
	if c.rand != nil {
		source = c.rand
	}
	return source()
}

// places is the process's sequence for the operations of tiled backoffs. It starts anywhere. Operations that fail
// together spread evenly, without knowing how many they are.
var places = startingAt(rand.Uint64())

// sequence is a sequence whose k-th number is frac(start + k·0.6180339887…). Any number of consecutive ones divides
// [0,1) into gaps of at most three lengths (the three-distance theorem). It is safe for concurrent use.
type sequence struct{ at atomic.Uint64 }

func startingAt(start uint64) *sequence {
	s := new(sequence)
	s.at.Store(start)
	return s
}

// next returns the next number. The ratio is multiplied by 2^64 and added in wrapping arithmetic: no error grows with
// the number of steps.
func (s *sequence) next() float64 {
	const golden = 0x9E3779B97F4A7C15
	return float64(s.at.Add(golden)>>11) / (1 << 53)
}

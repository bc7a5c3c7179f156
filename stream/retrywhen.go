package stream

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// Failure is one failed attempt, as a RetryHandler sees it.
type Failure struct {
	// Err is the error that the attempt ended with.
	Err error
	// N is the number of failures of this subscription so far, from 1. In an answer, N says which failure is answered: its
	// number, or 0 for the failure that waits for an answer.
	N int
	// Items is the number of values that the failed attempt delivered.
	Items int64
	// Lasted is how long the failed attempt ran on the subscription's clock, including the time its consumer took.
	Lasted time.Duration
}

// RetryHandler decides about retries: each value that the stream returned by Handle yields is an answer, and starts the
// next attempt. It is to failures what an http.Handler is to requests.
//
// Handle is called once for each subscription, at its first failure. The stream it returns is run once, on the
// subscriber's goroutine. failures can be run any number of times, also concurrently: each run begins with the failure
// that is not answered yet, if there is one, and then receives every failure. A run ends when the subscription does.
//
// While the attempt of an answer runs, the handler's yield has not returned. A stream that holds a lock or a connection
// while it yields holds it for the whole attempt.
//
// A condition that stops the retries belongs in the handler's own chain, as a TakeWhile. A condition that runs
// concurrently with the failures, in a Merge, may come after the answer that it should prevent.
//
// A RetryHandler must be safe for concurrent use if its streams are run concurrently.
type RetryHandler interface {
	Handle(failures Stream[Failure]) Stream[Failure]
}

// RetryHandlerFunc makes a RetryHandler of a function.
type RetryHandlerFunc func(failures Stream[Failure]) Stream[Failure]

// Handle returns f(failures).
func (f RetryHandlerFunc) Handle(failures Stream[Failure]) Stream[Failure] { return f(failures) }

// RetryWhen runs s, and runs it again each time the handler answers a failure.
//
// A retry runs the whole source again: s must be idempotent, or resume where it stopped (operators.Resume). What a
// failed attempt has delivered stays delivered. A value that belongs to the attempt's connection, such as a broker's
// delivery that must be acknowledged on it, is of no use after that attempt, and usually comes again in a later one:
// let it carry the attempt's context, which ends with the attempt. operators.MapRetry shows how.
//
//	s        --a--#   --a--b--#     --a--|
//	answers        -r          ---r
//	result   --a------a--b-----------a--|
//
// The stream returns nil only if an attempt ended without an error or the consumer stopped: it never hides an error. If
// the handler ends or fails after an answer, that takes effect when the attempt of that answer has failed. So the n-th
// retry of failures.Take(n) runs in full. If the handler has ended, the stream returns the failure's own Err. If the
// handler has failed, it returns the handler's error, and errors.Is also finds the failure's error in it.
//
// A value of the handler is an answer only if the handler has received a failure that is not answered yet, and the
// value's N is that failure's or 0. Any other value is ignored. So there are never two attempts at once. A handler that
// never ran its failures, such as an Interval, counts as having received each. A handler that drops a failure and waits
// for the next one, as failures.Filter does, waits forever. To cut waits short with a signal, use retry.ResetOn, or
// operators.SwitchMap from each failure f to stream.Of(f).Delay(d). Do not use failures.Delay(d).Merge(signal): after a
// signal, Delay still holds the old failure until d is over, and the next signal has no effect until then. If several
// answers race, each must have its failure's N, as f does: otherwise the second one may answer the next failure, whose
// wait is then skipped.
//
// Attempts run one after the other, on the goroutine that runs the stream. Each has its own context, which is cancelled
// before the next attempt starts. When ctx ends nothing is retried, and the error matches both context.Cause(ctx) and
// the last failure, unless an attempt works since (see [Works]). ErrNotRestartable is not retried, nor an error marked
// as Permanent, which keeps its mark. A panic of the consumer is not a failure of the source: it reaches the caller.
//
// A retry.Policy retries an error that an inner policy has given up on like any other: three layers of three retries
// make 64 attempts. Retry in one layer, and run the others under retry.WithoutRetries.
//
// If h has a method Name() string, the errors of a Timeout in the attempts bear that name. If it has a method
// Clock(context.Context) Clock, the attempts are measured on that clock, else on the clock of ctx.
//
// RetryWhen starts no goroutine. It keeps only the last failure, unless one run of the failures lags behind another.
func (s Stream[T]) RetryWhen(h RetryHandler) Stream[T] {
	s.require("RetryWhen")
	requireFunc(attempt.IsNil(h), "RetryWhen: h")
	return func(ctx context.Context, yield func(T) bool) error {
		r := retrying[T]{source: s, handler: h, ctx: ctx, clock: timer.ClockFrom(ctx)}
		r.deliver = func(v T) bool {
			if r.gate != free {
				if r.gate != first {
					return false
				}
				r.gate = busy
				r.subscription.Works(&always)
			}
			r.gate = busy
			r.given++
			if !yield(v) {
				r.gate = shut
				return false
			}
			r.gate = free
			return true
		}
		r.begin()
		if r.attempt(); r.ended && r.observation == nil {
			if r.observer != nil {
				r.observer.Once(&r.subscription, r.latest, r.err)
			}
			return r.err
		}
		return r.retry()
	}
}

// Retry runs s again at once when it fails, at most n times, and then fails with the last error. It is RetryWhen with
// the handler failures.Take(n).
//
//	s         --a--#   --a--#   --a--b--#
//	Retry(2)  --a------a------a--b--#
func (s Stream[T]) Retry(n int) Stream[T] {
	s.require("Retry")
	requireMin("Retry: n", n, 0)
	return s.RetryWhen(RetryHandlerFunc(func(failures Stream[Failure]) Stream[Failure] {
		return failures.Take(n)
	}))
}

// retrying is one subscription to a retried stream. A policy decides about its failures in a loop. The stream of any
// other handler runs on the subscriber's goroutine, and each attempt runs inside the handler's yield. When the attempt
// has failed, yield returns and the handler takes the failure. So the stack is flat, and RetryWhen needs no goroutine.
type retrying[T any] struct {
	source  Stream[T]
	handler RetryHandler
	ctx     context.Context
	clock   timer.Clock
	deliver func(T) bool // passes a value of the source to the consumer

	latest  attempt.Attempt // that runs, or was the last one
	given   int64           // how many values it has passed to the consumer
	gate    gate
	running bool // it runs; afterwards: it did not return

	repeats bool // the attempts have no numbers: none of them is a retry

	subscription attempt.Subscription
	failures     failures
	err          error // the last failure, or what the stream returns once ended
	last         error // the last failure, nil if it was a planned end
	ended        bool
	observer     attempt.Observer    // of the handler; nil if it has none
	decides      bool                // the observation does, in place of the handler's stream
	observation  attempt.Observation // nil until it has begun
}

// gate says what a value of the attempt meets.
type gate uint8

const (
	free  gate = iota // the consumer
	first             // the consumer, after what the first value of an attempt after a failure ends
	busy              // the consumer has not returned from the value before
	shut              // the consumer wants no more values
)

// begin asks the handler what it is.
func (r *retrying[T]) begin() {
	_, r.repeats = r.handler.(attempt.Repeats)
	if named, ok := r.handler.(interface{ Name() string }); ok {
		r.subscription.Name = named.Name()
	}
	if timed, ok := r.handler.(interface{ Clock(context.Context) Clock }); ok {
		r.clock = timed.Clock(r.ctx)
	}
	r.subscription.Context, r.subscription.Began = r.ctx, r.clock.Now()
	if r.observer, r.decides = attempt.ObserverOf(r.handler); r.observer != nil && r.observer.Early() {
		r.observation, r.gate = r.observer.Observe(&r.subscription), first
	}
}

// retry makes the attempts after the first one, and returns what the stream returns.
func (r *retrying[T]) retry() (err error) {
	returned := false
	defer func() {
		if r.failures.close(); !returned {
			r.subscription.End(r.latest, attempt.ErrPanic)
		}
	}()
	if r.observer != nil && r.observation == nil {
		r.observation = r.observer.Observe(&r.subscription)
	}
	switch err = r.err; {
	case r.ended:
	case r.decides:
		err = r.follow()
	default:
		err = r.handle()
	}
	returned = true
	r.subscription.End(r.latest, err)
	return err
}

// follow makes the attempts as a policy decides.
func (r *retrying[T]) follow() (err error) {
	for err == nil && !r.ended {
		if err = r.observation.Next(r.report()); err == nil {
			r.attempt()
		}
	}
	return r.result(err)
}

// handle runs the handler's stream, which makes the attempts.
func (r *retrying[T]) handle() error {
	r.failures.post(r.report())
	answers := r.handler.Handle(r.failures.run)
	if answers == nil {
		return ending.Join(errors.New("stream: RetryWhen: the handler returned a nil stream"), r.err)
	}
	err := answers(&r.subscription, r.answer)
	if r.running && err == nil {
		err = errors.New("stream: RetryWhen: the handler recovered a panic of an attempt")
	}
	return r.result(err)
}

// answer is the yield of the handler's stream. If the value a is an answer, it runs the attempt.
func (r *retrying[T]) answer(a Failure) bool {
	if r.ended || r.running || r.ctx.Err() != nil {
		return false
	}
	if !r.failures.answer(a.N) {
		return true
	}
	r.subscription.Answered()
	if r.attempt(); r.ended {
		r.failures.close() // a handler that does not stop must not wait forever
		return false
	}
	r.failures.post(r.report())
	return true
}

// result returns what the stream returns when the handler has ended with err.
func (r *retrying[T]) result(err error) error {
	switch {
	case r.ended:
		return r.err
	case r.ctx.Err() != nil:
		return ending.Error(r.ctx, err, r.last)
	default:
		return ending.Join(err, r.err)
	}
}

// attempt runs the source once. Afterwards the stream has ended, or the attempt has failed.
func (r *retrying[T]) attempt() {
	began := r.now()
	err := r.runSource()
	a := &r.latest
	a.Err, a.Items, a.Worked, a.Reported = err, r.given-r.subscription.Bookmarks, r.given > 0, false
	r.ended = true
	failure := err
	if ending.IsPlanned(err) && r.worked() {
		failure = nil // it is in no error once ctx has ended
	}
	switch {
	case r.gate == shut:
		a.Err, r.err = nil, nil
	case r.gate == busy:
		a.Items = 0
		r.err = ending.Join(errors.New("stream: RetryWhen: the source recovered a panic of its consumer"), err)
	case err == nil:
		r.err = nil
	case r.ctx.Err() != nil:
		r.err = ending.Error(r.ctx, failure, r.older())
	case ending.Reaches(err, ErrNotRestartable):
		r.err = ending.Join(err, r.older())
	default:
		r.err, r.last, r.ended = err, failure, ending.IsPermanent(err)
	}
	if !r.ended || a.N > 1 || r.observation != nil {
		a.At = r.now()
		a.Lasted = a.At - began
	}
}

// now returns the time since the subscription began.
func (r *retrying[T]) now() time.Duration { return timer.Since(r.clock, r.subscription.Began) }

func (r *retrying[T]) runSource() error {
	r.latest.N++
	ctx := &attemptContext{subscription: &r.subscription}
	if !r.repeats {
		ctx.n = uint32(min(uint64(r.latest.N), math.MaxUint32))
	}
	defer func() {
		ctx.finish()
		if r.running {
			r.failures.close() // a handler that recovers the panic must not wait forever
		}
	}()
	r.given, r.subscription.Bookmarks, r.running = 0, 0, true
	err := r.source(ctx, r.deliver)
	r.running = false
	return err
}

// report reports the failure of the last attempt to the observations, and returns it.
func (r *retrying[T]) report() *attempt.Attempt {
	r.gate = first
	r.subscription.Report(&r.latest)
	return &r.latest
}

// older returns the failure before the attempt that has ended, nil if the attempt has worked.
func (r *retrying[T]) older() error {
	if r.worked() {
		return nil
	}
	return r.last
}

// worked reports whether the attempt that has ended has worked.
func (r *retrying[T]) worked() bool {
	r.subscription.Lock() // a Works that has begun is over
	defer r.subscription.Unlock()
	return r.given > 0 || r.subscription.Worked()
}

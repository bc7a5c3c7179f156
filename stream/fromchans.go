package stream

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/retrywhen/retrywhen/internal/alarm"
	"github.com/retrywhen/retrywhen/internal/bubble"
	"github.com/retrywhen/retrywhen/internal/ending"
)

// FromChans returns the stream of a pair of channels, the form in which much Go code hands out values and an error.
// Each run calls open with a context of its own, which ends when the run does, and so it can be retried.
//
//	values: --a--b--c(closed)      --a--b--c---
//	errs:   ---------(closed)      --------err
//	result: --a--b--c|             --a--b--c#
//
// The first error that comes ends the run, after the values that are already in the value channel. Without an error the
// run ends when the producer says so in any of three ways: it closes the value channel, closes errs, or sends a nil
// error. So a producer may close both channels, either or neither. Either channel may be nil, both may not: that is an
// error.
//
// A producer should send its error before it closes the value channel, as a deferred close does, and its last value
// before it closes errs. For one that does not, FromChans waits after the first of these ends: for the other channel's
// end, or until nothing has come for 10 ms on the system's clock, no longer, as many producers leave the other channel
// open. (In a testing/synctest bubble it waits until all others are durably blocked, and no virtual time passes.) What
// remains in the channels when the consumer stops is lost. The stream cannot wait for the producer's goroutines: they
// are not leaked if they heed the context in every send.
func FromChans[T any](open func(context.Context) (<-chan T, <-chan error)) Stream[T] {
	requireFunc(open == nil, "FromChans: open")
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		run, cancel := context.WithCancel(ctx)
		defer cancel()
		values, errs := open(run)
		if values == nil && errs == nil {
			return errors.New("stream: FromChans: open returned two nil channels")
		}
		done := ctx.Done()
		for {
			if closed(done) {
				return context.Cause(ctx)
			}
			select {
			case v, ok := <-values:
				if !ok {
					return ending.Under(ctx, lateError(ctx, errs))
				}
				if !yield(v) {
					return nil
				}
			case err, ok := <-errs:
				if err != nil {
					if !yieldHeld(done, values, yield) {
						return nil
					}
					return ending.Under(ctx, err)
				}
				if !ok {
					errs = nil
				}
				stopped, err := yieldLate(ctx, values, errs, yield)
				if stopped {
					return nil
				}
				return ending.Under(ctx, err)
			case <-done:
			}
		}
	}
}

// yieldHeld yields what values holds, and a value that somebody is just sending; it reports whether the consumer
// wants more. A producer that goes on for ever does not keep it.
func yieldHeld[T any](done <-chan struct{}, values <-chan T, yield func(T) bool) bool {
	for range cap(values) + 1 {
		if closed(done) {
			return true
		}
		select {
		case v, ok := <-values:
			if !ok {
				return true
			}
			if !yield(v) {
				return false
			}
		default:
			return true
		}
	}
	return true
}

// lateError returns the error of a producer that has closed its value channel, nil if there is none.
func lateError(ctx context.Context, errs <-chan error) (failed error) {
	if errs == nil {
		return nil
	}
	linger(ctx, func() (came, over bool) {
		select {
		case failed = <-errs:
			return true, true
		default:
			return false, false
		}
	})
	return failed
}

// yieldLate yields the values that still come from a producer that has said there is no error, and reports whether the
// consumer stopped; a producer that has changed its mind has failed. A nil errs is closed.
func yieldLate[T any](ctx context.Context, values <-chan T, errs <-chan error, yield func(T) bool) (stopped bool, failed error) {
	if values == nil {
		return false, nil
	}
	linger(ctx, func() (came, over bool) {
		select {
		case v, ok := <-values:
			if ok {
				stopped = !yield(v)
			}
			return true, !ok || stopped
		default:
		}
		select {
		case err, ok := <-errs:
			if !ok {
				errs = nil
			}
			if failed = err; err != nil {
				stopped = !yieldHeld(ctx.Done(), values, yield) // what came since the look above
			}
			return true, err != nil
		default:
			return false, false
		}
	})
	return stopped, failed
}

// How much chance is given to what comes late: turns of the other goroutines, then steps of waiting. Many short steps
// are better than a long one on a machine that lets the producer wait for a processor.
const (
	lateTurns = 1000
	lateSteps = 10
	lateStep  = time.Millisecond
)

// linger calls receive, which takes what is there without waiting, until it is over, nothing has come for a while, or
// ctx has ended. In a bubble, whose exact times a wait would spoil, the while is until all others are at rest.
func linger(ctx context.Context, receive func() (came, over bool)) {
	inside := bubble.Inside()
	step := alarm.New[Stopper](systemClock{})
	for idle := 0; ctx.Err() == nil; idle++ {
		came, over := receive()
		switch {
		case over:
			return
		case came:
			idle = -1
		case idle < lateTurns:
			runtime.Gosched()
		case inside && idle == lateTurns:
			bubble.Rest()
		case inside || idle == lateTurns+lateSteps:
			return
		default:
			step.Wait(ctx, lateStep)
		}
	}
}

// closed reports whether done is closed; a nil done never is.
func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

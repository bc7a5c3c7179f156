package stream

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// FromChans returns the stream of a pair of channels, the form in which much Go code hands out values and an error.
// Each run calls open with a context of its own, which ends when the run does, and so it can be retried.
//
//	values: --a--b--c(closed)      --a--b--c---
//	errs:   ---------(closed)      --------err
//	result: --a--b--c|             --a--b--c#
//
// The first error that comes ends the run, after the values that are already in the value channel. Closing the value
// channel ends the run well, unless an error is there. So a producer may close both channels, the value channel alone,
// or, when it ends in an error, neither or the error channel alone. Closing errs, or sending a nil error, says that
// there is no error so far and nothing about the values: they go on until their channel is closed. Either channel may
// be nil, both may not: that is an error.
//
// A producer should send its error before it closes the value channel, as a deferred close does, or else close errs
// too. To one that sends an error only afterwards, FromChans gives about 10 ms, on the system's clock, before it
// believes that there is none; no longer, as many producers leave errs open. (In a testing/synctest bubble it only lets
// the other goroutines run, and virtual times stay exact.) What remains in the channels when the consumer stops is lost.
// The stream cannot wait for the producer's goroutines: they are not leaked if they heed the context in every send.
func FromChans[T any](open func(context.Context) (<-chan T, <-chan error)) Stream[T] {
	requireFunc(open == nil, "FromChans: open")
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ended(ctx); err != nil {
			return err
		}
		run, cancel := context.WithCancel(ctx)
		defer cancel()
		values, errs := open(run)
		if values == nil && errs == nil {
			return errors.New("stream: FromChans: open returned two nil channels")
		}
		done := ctx.Done()
		for values != nil {
			if closed(done) {
				return context.Cause(ctx)
			}
			select {
			case v, ok := <-values:
				if !ok {
					return failedUnder(ctx, lateError(done, errs))
				}
				if !yield(v) {
					return nil
				}
			case err, ok := <-errs:
				if !ok {
					errs = nil
				}
				if err != nil {
					if !yieldHeld(done, values, yield) {
						return nil
					}
					return failedUnder(ctx, err)
				}
			case <-done:
			}
		}
		select {
		case err := <-errs:
			return failedUnder(ctx, err)
		case <-done:
			return context.Cause(ctx)
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

// How much chance a late error is given: turns of the other goroutines, then steps of waiting. Many short steps are
// better than a long one on a machine that lets the producer wait for a processor.
const (
	lateTurns = 1000
	lateSteps = 10
	lateStep  = time.Millisecond
)

// lateError returns the error of a producer that has closed its value channel, nil if there is none.
func lateError(done <-chan struct{}, errs <-chan error) error {
	if errs == nil {
		return nil
	}
	for range lateTurns {
		select {
		case err := <-errs:
			return err
		default:
			runtime.Gosched()
		}
	}
	if now := time.Now(); now == now.Round(0) {
		return nil // no monotonic reading: a synctest bubble, whose exact times a wait would spoil
	}
	step := time.NewTimer(lateStep)
	defer step.Stop()
	for range lateSteps {
		select {
		case err := <-errs:
			return err
		case <-done:
			return nil
		case <-step.C:
			step.Reset(lateStep)
		}
	}
	select { // if both were ready
	case err := <-errs:
		return err
	default:
		return nil
	}
}

package stream

import (
	"context"
	"errors"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// FromChans makes a stream of a pair of channels, which much Go code uses to deliver values and an error. Each run
// calls open with a context of its own, which ends when the run does. So the stream can be retried.
//
//	values: --a--b--c(closed)      --a--b--c---
//	errs:   ---------(closed)      --------err
//	result: --a--b--c|             --a--b--c#
//
// The first error ends the run, after the values that are already in the value channel. Without an error, the producer
// ends the run in one of three ways: it closes the value channel, closes errs, or sends a nil error. So a producer may
// close both channels, one, or neither. Either channel may be nil; if both are nil, the run fails.
//
// Nothing that the producer sends before the end is lost: neither an error sent before the value channel is closed, as
// by a deferred close, nor values sent before errs is closed or a nil error is sent. What it sends afterwards is lost.
// FromChans does not wait for it: no wait is long enough for every producer, and each would delay the producers that
// are done. So in
//
//	go func() { errs <- list(ctx, values) }()
//
// list must not close values: the goroutine must close it, after the send. What remains in the channels when the
// consumer stops is lost. The stream cannot wait for the producer's goroutines: they do not leak if every send also
// waits for the end of the context.
func FromChans[T any](open func(context.Context) (<-chan T, <-chan error)) Stream[T] {
	requireFunc(open == nil, "FromChans: open")
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		run, cancel := context.WithCancel(ctx)
		defer cancel()
		values, errs := open(run)
		if values == nil && errs == nil {
			return errors.New("stream: FromChans: open returned two nil channels")
		}
		return yieldUntilEnd(ctx, values, errs, yield)
	}
}

// yieldUntilEnd yields the values until one of the channels signals the end.
func yieldUntilEnd[T any](ctx context.Context, values <-chan T, errs <-chan error, yield func(T) bool) error {
	done := ctx.Done()
	for {
		if closed(done) {
			return ending.ContextError(ctx)
		}
		select {
		case v, ok := <-values:
			if !ok {
				return ending.Error(ctx, heldError(errs))
			}
			if !yield(v) {
				return nil
			}
		case err := <-errs:
			if err == nil {
				err = heldError(errs)
			}
			if !yieldHeld(done, values, yield) {
				return nil
			}
			return ending.Error(ctx, err)
		case <-done:
		}
	}
}

// heldError returns the first error in errs, or one that is being sent right now, or nil. By Go's memory model,
// everything sent before another channel was closed is visible here once that close was seen.
func heldError(errs <-chan error) error {
	for range cap(errs) + 1 {
		select {
		case err := <-errs:
			if err != nil {
				return err
			}
		default:
		}
	}
	return nil
}

// yieldHeld yields the values in the channel, and one that is being sent right now. It reports whether the consumer
// wants more. It returns even if a producer sends forever.
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

// closed reports whether done is closed; a nil done never is.
func closed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

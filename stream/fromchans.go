package stream

import (
	"context"
	"errors"

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
// What the producer has sent before it says so is never lost: an error before it closes the value channel, as a
// deferred close does, and values before it closes errs or sends nil. What it sends afterwards is lost, as FromChans
// does not wait for it: no wait is long enough for every producer, and each would delay those that are done. So in
//
//	go func() { errs <- list(ctx, values) }()
//
// list must leave the closing of values to the goroutine, after the send. What remains in the channels when the
// consumer stops is lost. The stream cannot wait for the producer's goroutines: they are not leaked if they use the
// context in every send.
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

// yieldUntilEnd yields what comes from values until one of the channels says that this is the end.
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

// heldError returns the first error that errs holds, or that is being sent right now; nil if there is none. By Go's
// memory model what was sent before another channel was closed is here once that close has been seen.
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

// yieldHeld yields what values holds, and a value that is being sent right now; it reports whether the consumer
// wants more. A producer that goes on forever does not keep it.
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

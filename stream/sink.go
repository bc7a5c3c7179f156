package stream

import (
	"context"
	"errors"
	"iter"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// All returns the stream as a sequence for a range loop: (value, nil) for each value, then (zero, err) if the run
// fails. Each loop over it is a run of its own. Leaving the loop stops the source, and nothing of it runs afterwards.
//
//	for v, err := range s.All(ctx) {
//		if err != nil {
//			return err
//		}
//		…
//	}
func (s Stream[T]) All(ctx context.Context) iter.Seq2[T, error] {
	s.require("All")
	return func(yield func(T, error) bool) {
		stopped := false
		err := s(ctx, func(v T) bool {
			stopped = stopped || !yield(v, nil)
			return !stopped
		})
		if err != nil && !stopped {
			var zero T
			yield(zero, err)
		}
	}
}

// Collect runs the stream and returns its values and the error that ended it. The values before an error are returned
// too. Without a value the slice is nil.
func (s Stream[T]) Collect(ctx context.Context) ([]T, error) {
	s.require("Collect")
	var all []T
	err := s(ctx, func(v T) bool {
		all = append(all, v)
		return true
	})
	return all, err
}

// One runs the stream until its first value, stops it, and returns that value. Then the error is nil, whatever the
// source returns when it is stopped. If the stream fails before its first value, One returns that error. If it ends
// without a value, One returns [ErrEmpty].
//
//	s:    --a--b--c--|
//	One:    a, nil
//
// It ends a wait for one thing: the next message, the first answer, a state that is reached. For a stream of at most
// one value, such as a Timer, FromFunc or operators.Reduce, it is the way to a plain value.
func (s Stream[T]) One(ctx context.Context) (first T, err error) {
	s.require("One")
	found := false
	err = s(ctx, func(v T) bool {
		if !found {
			first, found = v, true
		}
		return false
	})
	switch {
	case found:
		err = nil
	case err == nil:
		err = ending.Error(ctx, ErrEmpty)
	}
	return first, err
}

// ForEach runs the stream, calls f for each value on the caller's goroutine, and returns the error that ended it. See
// TryForEach for an f that can fail.
func (s Stream[T]) ForEach(ctx context.Context, f func(T)) error {
	s.require("ForEach")
	requireFunc(f == nil, "ForEach: f")
	return s(ctx, func(v T) bool {
		f(v)
		return true
	})
}

// TryForEach runs the stream and calls f for each value on the caller's goroutine, with ctx. The first error of f stops
// the run and is returned. It is not a failure of the source, so no operator before TryForEach retries it. If f does
// not fail, TryForEach returns the error that ended the stream. An error of f that comes after ctx has ended is joined
// with ctx's cause.
//
// An f whose work may fail retries it itself. The source waits meanwhile, and the position of an operators.Resume
// before TryForEach does not move until f has returned nil:
//
//	err := feed.TryForEach(ctx, func(ctx context.Context, e Event) error {
//		err := retry.Run(ctx, policy, func(ctx context.Context) error { return handle(ctx, e) })
//		if err != nil && ctx.Err() == nil {
//			return bury(ctx, e, err) // a dead letter; nil continues with the next event
//		}
//		return err
//	})
func (s Stream[T]) TryForEach(ctx context.Context, f func(context.Context, T) error) (err error) {
	s.require("TryForEach")
	requireFunc(f == nil, "TryForEach: f")
	do(func() {
		var failure error
		err = s(ctx, func(v T) bool {
			if failure == nil {
				failure = f(ctx, v)
			}
			return failure == nil
		})
		if failure != nil {
			err = ending.Error(ctx, failure)
		}
	})
	return err
}

// errExit is the error of Chans when the source has called runtime.Goexit.
var errExit = errors.New("stream: Chans: the source ended its goroutine")

// Chans runs the stream on its own goroutine and returns a channel of its values and a channel of its error. The first
// holds up to buffer values, the second at most one error. When the run ends, the error, if any, is sent first; then
// the value channel is closed, then the error channel. So it is enough to range over the values and then to receive
// from the error channel once:
//
//	values, errs := s.Chans(ctx, 0)
//	for v := range values {
//		…
//	}
//	if err := <-errs; err != nil {
//		return err
//	}
//
// The source's yield returns when the value is in the channel. So the position of an operators.Resume may have moved
// past values that are not processed yet: up to buffer values, and the one that was received last.
//
// The goroutine ends when the run does. A caller that stops receiving must cancel ctx, and need not receive afterwards.
// A panic of the source crashes the program, as on any goroutine.
func (s Stream[T]) Chans(ctx context.Context, buffer int) (<-chan T, <-chan error) {
	s.require("Chans")
	requireBuffer[T]("Chans: buffer", buffer)
	values, errs := make(chan T, buffer), make(chan error, 1)
	go func() {
		defer close(errs)
		defer close(values)
		err := errExit
		defer func() {
			if err != nil {
				errs <- err
			}
		}()
		done := ctx.Done()
		stopped := false
		err = s(ctx, ending.Until(&stopped, func(v T) bool {
			if !closed(done) {
				select {
				case values <- v:
					return true
				case <-done:
				}
			}
			return false
		}))
		if stopped {
			err = ending.ContextError(ctx)
		}
	}()
	return values, errs
}

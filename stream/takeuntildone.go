package stream

import (
	"context"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// TakeUntilDone yields the values of s until done is closed, and ends without an error then. It cancels s, also in the
// middle of a wait, and waits until s has returned. Nothing more is delivered, and what s returns is dropped. done is
// any channel that is closed to stop the flow, for example a context's Done(); a value sent on it counts too. If done
// is closed already, s is not run. If done is nil, the stream is s itself.
//
//	source:               --a--b--c--d--|
//	done:                 ---------(closed)
//	TakeUntilDone(done):  --a--b--c|
//
// When ctx ends, before or after done is closed, the stream fails with its cause, as every stream does. If done is
// closed while the consumer processes a value, the stream ends when the consumer is done with it.
//
// TakeUntilDone stops the operators before it: put it last. In s.TakeUntilDone(done).RetryWhen(p) the wait for the next
// attempt is not cut short. The section "How to stop a stream" of docs/semantics.md compares the ways.
//
// A separate goroutine waits for done; s runs on the caller's goroutine.
func (s Stream[T]) TakeUntilDone(done <-chan struct{}) Stream[T] {
	s.require("TakeUntilDone")
	if done == nil {
		return s
	}
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil || closed(done) {
			return err
		}
		w := watchDone(ctx, done)
		defer w.wait()
		stopped, over := false, false
		err := s(w.run, func(v T) bool {
			over = over || closed(done) || w.done.Load()
			stopped = stopped || !over && !yield(v)
			return !stopped && !over
		})
		w.wait()
		switch {
		case stopped:
			return nil
		case over || closed(done) || w.done.Load():
			return ending.ContextError(ctx)
		}
		return ending.Error(ctx, err)
	}
}

// doneWatch is a goroutine that cancels a run when a channel is closed.
type doneWatch struct {
	done     atomic.Bool // done was closed
	run      context.Context
	cancel   context.CancelFunc
	returned chan struct{}
}

func watchDone(ctx context.Context, done <-chan struct{}) *doneWatch {
	w := &doneWatch{returned: make(chan struct{})}
	w.run, w.cancel = context.WithCancel(ctx)
	go func() {
		defer close(w.returned)
		select {
		case <-done:
			w.done.Store(true)
			w.cancel()
		case <-w.run.Done():
		}
	}()
	return w
}

// wait ends the run and returns when the goroutine has.
func (w *doneWatch) wait() {
	w.cancel()
	<-w.returned
}

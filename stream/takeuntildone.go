package stream

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/op"
)

// TakeUntilDone yields the values of s until done is closed, and ends without an error then. It cancels s, also in the
// middle of a wait, and waits until s has returned. Nothing more is delivered, and what s returns is dropped. done is
// any channel that is closed to stop the flow, for example a context's Done(). A value sent on it ends the flow too,
// but values, or a failure of s, may still come. If done is closed already, s is not run. If done is nil, the stream is
// s itself.
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
	stop := Stream[struct{}](func(ctx context.Context, yield func(struct{}) bool) error {
		select {
		case <-done:
			yield(struct{}{})
		case <-ctx.Done():
		}
		return ending.ContextError(ctx)
	})
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil || closed(done) {
			return err
		}
		err := op.TakeUntil("stream", func(ctx context.Context, yield func(T) bool) error {
			return s(ctx, func(v T) bool { return !closed(done) && yield(v) })
		}, stop)(ctx, yield)
		if err != nil && closed(done) {
			return ending.ContextError(ctx)
		}
		return err
	}
}

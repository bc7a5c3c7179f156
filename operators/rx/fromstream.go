package rx

import (
	"context"
	"fmt"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// FromStream returns a cold observable of the stream's values. Each Observe runs s once, on its own goroutine.
//
//	s           --1--2--#
//	observable  --1--2--#|
//
// A value v becomes the item rxgo.Of(v). An error that ends the stream is the last item before the channel is closed.
// Without WithBufferedChannel nothing is buffered: a slow reader slows the stream.
//
// A run ends when the context given here or the one given to Observe ends. The stream sees the values of both contexts,
// those of Observe's first. A reader that waits at that moment receives the error, which matches context.Cause. A
// reader that comes later finds the channel closed, as with rxgo's operators: check the context. A reader that stops
// early must cancel, because rxgo has no other way to stop its source.
//
// The package comment lists the other options. A panic of the stream ends the program, as a panic inside an operator of
// rxgo does: no caller is left to recover it.
func FromStream[T any](s stream.Stream[T], opts ...rxgo.Option) rxgo.Observable {
	require("FromStream", "s", s != nil)
	return observable("FromStream", s, opts)
}

func observable[T any](function string, s stream.Stream[T], opts []rxgo.Option) rxgo.Observable {
	set := read(function, opts)
	producers := []rxgo.Producer{func(ctx context.Context, next chan<- rxgo.Item) {
		ctx, cancel := both(ctx, set.ctx)
		defer cancel()
		run(ctx, function, s, next)
	}}
	if set.shared {
		return rxgo.Create(producers, set.opts...)
	}
	return rxgo.Defer(producers, set.opts...)
}

// run sends the values of s and its error.
func run[T any](ctx context.Context, function string, s stream.Stream[T], next chan<- rxgo.Item) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			panic(p)
		}
		// The channel will be closed, as after an end without an error.
		sendError(ctx, next, fmt.Errorf("rx: %s: runtime.Goexit was called in the stream", function))
	}()
	refused := false
	err := s(ctx, func(v T) bool {
		refused = !rxgo.Of(v).SendContext(ctx, next)
		return !refused
	})
	returned = true
	if err == nil && refused {
		err = ending.ContextError(ctx)
	}
	if err != nil {
		sendError(ctx, next, err)
	}
}

// sendError sends err. When ctx has ended, it sends err only to a reader that is waiting already.
func sendError(ctx context.Context, next chan<- rxgo.Item, err error) {
	select {
	case next <- rxgo.Error(err):
		return
	default:
	}
	select {
	case next <- rxgo.Error(err):
	case <-ctx.Done():
	}
}

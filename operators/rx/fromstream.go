package rx

import (
	"context"
	"fmt"

	"github.com/reactivex/rxgo/v2"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/stream"
)

// FromStream returns a cold observable of the stream's values: each Observe runs s once, on a goroutine of its own.
//
//	s           --1--2--#
//	observable  --1--2--#|
//
// A value v is the item rxgo.Of(v), an error that ends the stream the last item before the channel is closed. Nothing
// is buffered without WithBufferedChannel: a slow reader slows the stream.
//
// A run ends with the context given here or the one given to Observe, whichever ends first; the stream sees the values
// of both, Observe's before those given here. A reader that waits then receives the error, which matches
// context.Cause; but nobody is waited for, and who comes later finds the channel closed, as with rxgo's operators: ask
// the context. A reader that stops early has to cancel, for rxgo has no other way to tell its source.
//
// The package comment says what the other options mean. A panic of the stream ends the program, as one inside an
// operator of rxgo does: no caller is left to recover it.
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

// run sends what s yields, and its error.
func run[T any](ctx context.Context, function string, s stream.Stream[T], next chan<- rxgo.Item) {
	returned := false
	defer func() {
		if returned {
			return
		}
		if p := recover(); p != nil {
			panic(p)
		}
		// The channel will be closed, as after a good end.
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

// sendError sends err; when ctx has ended only to a reader that is there already.
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

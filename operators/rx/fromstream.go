package rx

import (
	"context"
	"fmt"
	"slices"
	"time"

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
		send(ctx, function, s, next)
	}}
	if set.shared {
		return rxgo.Create(producers, set.opts...)
	}
	return rxgo.Defer(producers, set.opts...)
}

// send sends the values of s and its error.
func send[T any](ctx context.Context, function string, s stream.Stream[T], next chan<- rxgo.Item) {
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

// settings are those options that rxgo itself would not apply to an observable made by Defer.
type settings struct {
	opts   []rxgo.Option
	ctx    context.Context // WithContext
	shared bool            // WithObservationStrategy(Eager), WithPublishStrategy
}

// read returns the settings in opts. An rxgo option cannot be read directly, so read builds observables with opts and
// inspects them.
func read(function string, opts []rxgo.Option) settings {
	for i, o := range opts {
		require(function, fmt.Sprintf("opts[%d]", i), o != nil)
	}
	// rxgo appends to the options at each Observe. Two concurrent appends would write to the same spare capacity.
	set := settings{opts: slices.Clip(slices.Clone(opts)), ctx: context.Background()}
	if len(opts) > 0 {
		set.ctx = contextOf(function, set.opts)
		set.shared = eager(set.opts) || published(set.opts)
	}
	return set
}

// contextOf returns the context that a producer receives. It panics now for options for which rxgo would panic at the
// first Observe.
func contextOf(function string, opts []rxgo.Option) (received context.Context) {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("rx: %s: opts: WithBufferedChannel: %v", function, p))
		}
	}()
	probe := rxgo.Defer([]rxgo.Producer{func(ctx context.Context, _ chan<- rxgo.Item) { received = ctx }}, opts...)
	for range probe.Observe() {
	}
	return received
}

// eager reports whether an operator would begin when it is built: then it has one channel for all subscriptions.
func eager(opts []rxgo.Option) bool {
	probe := rxgo.Just()().Take(1, opts...)
	one, two := probe.Observe(), probe.Observe()
	for range one {
	}
	for range two {
	}
	return one == two
}

// published reports whether a source would wait for Connect: then its subscribers do not receive from its own channel.
func published(opts []rxgo.Option) bool {
	items := make(chan rxgo.Item)
	return rxgo.FromChannel(items, opts...).Observe() != (<-chan rxgo.Item)(items)
}

// both returns a context that ends when ctx or other does, with the same cause. It has the values of both, ctx's first.
// It ends at cancel too, which must be called.
func both(ctx, other context.Context) (context.Context, context.CancelFunc) {
	joint, cancel := context.WithCancelCause(ctx)
	end := func() { cancel(context.Cause(other)) }
	if other.Err() != nil {
		end()
	}
	stop := context.AfterFunc(other, end)
	return jointContext{joint, other}, func() {
		stop()
		cancel(nil)
	}
}

type jointContext struct {
	context.Context
	other context.Context
}

func (c jointContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.other.Value(key)
}

func (c jointContext) Deadline() (time.Time, bool) {
	mine, ok := c.Context.Deadline()
	others, also := c.other.Deadline()
	if !ok || also && others.Before(mine) {
		return others, also
	}
	return mine, true
}

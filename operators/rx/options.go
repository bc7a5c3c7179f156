package rx

import (
	"context"
	"fmt"
	"slices"

	"github.com/reactivex/rxgo/v2"
)

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
func contextOf(function string, opts []rxgo.Option) (given context.Context) {
	defer func() {
		if p := recover(); p != nil {
			panic(fmt.Sprintf("rx: %s: opts: WithBufferedChannel: %v", function, p))
		}
	}()
	probe := rxgo.Defer([]rxgo.Producer{func(ctx context.Context, _ chan<- rxgo.Item) { given = ctx }}, opts...)
	for range probe.Observe() {
	}
	return given
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

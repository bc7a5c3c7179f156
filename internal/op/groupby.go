package op

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// GroupBy is operators.GroupBy.
func GroupBy[T any, K comparable, U any, G ~func(context.Context, func(T) bool) error, S ~func(context.Context, func(U) bool) error](
	p Package, s Stream[T], key func(T) K, f func(key K, group G) S,
) Stream[U] {
	p.NotNil("GroupBy", "s", s == nil)
	p.NotNil("GroupBy", "key", key == nil)
	p.NotNil("GroupBy", "f", f == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		g := grouping[T, K, U]{
			key: key,
			f: func(k K, group *group[T, K]) (Stream[U], error) {
				if made := f(k, group.run); made != nil {
					return Stream[U](made), nil
				}
				return nil, p.nilStream("GroupBy")
			},
			errRun: fmt.Errorf("%s: GroupBy: a group is run once, while f's stream runs: %w", string(p), ending.ErrNotRestartable),
			open:   true,
			in:     handoff.NewReceiver[U](scope),
			out:    out,
			groups: make(map[K]*group[T, K]),
			owners: make(map[*handoff.Subscription[U]]*group[T, K]),
		}
		var none U
		g.source = startInto(g.in, s, &g.value, none)
		scope.OnClosed(g.endAll)
		for (g.open || len(g.owners) > 0) && !out.Stopped() && scope.Err() == nil {
			var came <-chan struct{} // closed if there was an event, so that the select does not wait
			if event, ok := g.in.Take(); ok {
				if err := g.handle(event); err != nil {
					return err
				}
				came = closedChan
			}
			feed, value, done, closed := g.channels()
			select {
			case <-came:
			case <-g.in.C():
			case feed <- value:
				g.handed = true
			case <-done:
				g.taken()
			case <-closed:
				if err := g.closed(g.next); err != nil {
					return err
				}
			case <-scope.Context().Done():
			}
		}
		return nil
	})
}

var closedChan = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// grouping is one run of GroupBy.
type grouping[T any, K comparable, U any] struct {
	key    func(T) K
	f      func(K, *group[T, K]) (Stream[U], error)
	errRun error                // the error of a group that is run a second time or too late
	in     *handoff.Receiver[U] // of s, whose values are in value, and of the streams that f makes
	source *handoff.Subscription[U]
	open   bool // s has not ended
	out    *ending.Consumer[U]
	groups map[K]*group[T, K]                        // the open groups
	owners map[*handoff.Subscription[U]]*group[T, K] // the open groups by f's stream
	value  T                                         // of s
	next   *group[T, K]                              // the group of the value, if there is one
	fresh  bool                                      // the value has opened its group
	handed bool                                      // the group has received the value
}

// channels returns those of the group of the value, nil if there is none. Until the group is done with it, s waits with
// the value in its yield.
func (g *grouping[T, K, U]) channels() (feed chan<- T, value T, done, closed <-chan struct{}) {
	switch {
	case g.next == nil:
		return nil, value, nil, nil
	case g.handed:
		return nil, value, g.next.done, g.next.closed
	}
	return g.next.feed, g.value, nil, g.next.closed
}

// handle handles an event of s or of one of f's streams.
func (g *grouping[T, K, U]) handle(event handoff.Event[U]) error {
	over, err := event.Ended()
	switch {
	case err != nil:
		return err
	case event.From == g.source && over:
		g.open = false
		for _, open := range g.groups {
			open.end(nil)
		}
		clear(g.groups)
	case event.From == g.source:
		return g.offer(g.key(g.value))
	case over:
		gone := g.owners[event.From]
		delete(g.owners, event.From)
		gone.end(g.errRun)
		return g.closed(gone)
	case g.out.Deliver(event.Value):
		event.From.Request()
	}
	return nil
}

// offer makes the value wait for the group of its key. It opens the group if necessary.
func (g *grouping[T, K, U]) offer(key K) error {
	g.handed = false
	if g.next, g.fresh = g.groups[key], false; g.next != nil {
		return nil
	}
	opened := &group[T, K]{key: key, errRun: g.errRun, feed: make(chan T), done: make(chan struct{}, 1), closed: make(chan struct{})}
	made, err := g.f(key, opened)
	if err != nil {
		return err
	}
	g.groups[key], g.next, g.fresh = opened, opened, true
	g.owners[g.in.Start(made)] = opened
	return nil
}

// taken is called when the group is done with the value, or the value is dropped.
func (g *grouping[T, K, U]) taken() {
	var none T
	g.next, g.value = nil, none
	g.source.Request()
}

// closed removes the group, which is closed, from the open ones. A value that it has not received opens a new group. If
// the value had opened this group, it is dropped.
func (g *grouping[T, K, U]) closed(gone *group[T, K]) error {
	if g.groups[gone.key] == gone {
		delete(g.groups, gone.key)
	}
	switch {
	case g.next != gone:
		return nil
	case g.fresh || g.handed:
		g.taken()
		return nil
	}
	return g.offer(gone.key)
}

// endAll ends the runs of groups that outlive f's streams.
func (g *grouping[T, K, U]) endAll() {
	for _, gone := range g.owners {
		gone.end(g.errRun)
	}
}

// group is the values of one key.
type group[T any, K comparable] struct {
	key    K
	errRun error
	feed   chan T        // closed when no more values come, after err is written
	err    error         // set if f's stream was over before s
	ended  bool          // feed is closed
	used   atomic.Bool   // the group has been run
	done   chan struct{} // one signal: the run is done with its value
	closed chan struct{} // closed when the run has returned
}

// end ends the group's run with err.
func (g *group[T, K]) end(err error) {
	if !g.ended {
		g.ended, g.err = true, err
		close(g.feed)
	}
}

// run is the stream that f receives.
func (g *group[T, K]) run(ctx context.Context, yield func(T) bool) error {
	if g.used.Swap(true) {
		return g.errRun
	}
	defer close(g.closed)
	for {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		select {
		case v, open := <-g.feed:
			if !open {
				return ending.Error(ctx, g.err)
			}
			if !yield(v) {
				return nil
			}
			g.done <- struct{}{}
		case <-ctx.Done():
		}
	}
}

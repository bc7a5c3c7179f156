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
		in := handoff.NewReceiver[T](scope)
		g := grouping[T, K, U]{
			key: key,
			f: func(k K, group *group[T, K]) (Stream[U], error) {
				if made := f(k, group.run); made != nil {
					return Stream[U](made), nil
				}
				return nil, p.nilStream("GroupBy")
			},
			errRun: fmt.Errorf("%s: GroupBy: a group is run once, while f's stream runs: %w", string(p), ending.ErrNotRestartable),
			source: in.Start(s),
			open:   true,
			made:   handoff.NewReceiver[U](scope),
			out:    out,
			groups: make(map[K]*group[T, K]),
			owners: make(map[*handoff.Subscription[U]]*group[T, K]),
		}
		scope.OnClosed(g.endAll)
		for (g.open || len(g.owners) > 0) && !out.Stopped() && scope.Err() == nil {
			// While a group has a value, or a value waits for it, s waits in its yield, so in receives nothing.
			var feed chan<- T
			var done, closed <-chan struct{}
			if g.next != nil {
				if closed = g.next.closed; g.handed {
					done = g.next.done
				} else {
					feed = g.next.feed
				}
			}
			var err error
			if event, ok := in.Take(); ok {
				err = g.receive(event)
			} else if event, ok := g.made.Take(); ok {
				err = g.deliver(event)
			} else {
				select {
				case <-in.C():
				case feed <- g.value:
					g.handed = true
				case <-done:
					g.taken()
				case <-closed:
					err = g.closed(g.next)
				case <-g.made.C():
				case <-scope.Context().Done():
				}
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// grouping is one run of GroupBy.
type grouping[T any, K comparable, U any] struct {
	key    func(T) K
	f      func(K, *group[T, K]) (Stream[U], error)
	errRun error // the error of a group that is run a second time or too late
	source *handoff.Subscription[T]
	open   bool                 // s has not ended
	made   *handoff.Receiver[U] // of the streams that f makes
	out    *ending.Consumer[U]
	groups map[K]*group[T, K]                        // the open groups
	owners map[*handoff.Subscription[U]]*group[T, K] // the open groups by f's stream
	next   *group[T, K]                              // the group of the present value, if there is one
	value  T                                         // that value
	fresh  bool                                      // the value has opened its group
	handed bool                                      // the group has received the value
}

// receive handles an event of s.
func (g *grouping[T, K, U]) receive(event handoff.Event[T]) error {
	over, err := event.Ended()
	if !over {
		return g.offer(g.key(event.Value), event.Value)
	}
	g.open = false
	if err == nil {
		for _, open := range g.groups {
			open.end(nil)
		}
		clear(g.groups)
	}
	return err
}

// deliver handles an event of one of f's streams.
func (g *grouping[T, K, U]) deliver(event handoff.Event[U]) error {
	over, err := event.Ended()
	switch {
	case err != nil:
		return err
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

// offer makes the value v wait for the group of its key. It opens the group if necessary.
func (g *grouping[T, K, U]) offer(key K, v T) error {
	g.value, g.handed = v, false
	if g.next, g.fresh = g.groups[key], false; g.next != nil {
		return nil
	}
	opened := &group[T, K]{key: key, errRun: g.errRun, feed: make(chan T), done: make(chan struct{}, 1), closed: make(chan struct{})}
	made, err := g.f(key, opened)
	if err != nil {
		return err
	}
	g.groups[key], g.next, g.fresh = opened, opened, true
	g.owners[g.made.Start(made)] = opened
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
	return g.offer(gone.key, g.value)
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

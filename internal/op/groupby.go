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
	require(p, "GroupBy", s, "key", key == nil)
	p.NotNil("GroupBy", "f", f == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		g := grouping[T, K, U]{
			f:      func(of *group[T, K, U]) (Stream[U], error) { return madeBy[U](p, "GroupBy", f(of.key, of.run)) },
			errRun: fmt.Errorf("%s: GroupBy: a group is run once, while f's stream runs: %w", string(p), ending.ErrNotRestartable),
			in:     handoff.NewReceiver[U](scope),
			groups: make(map[K]*group[T, K, U]),
			owners: make(map[*handoff.Source[U]]*group[T, K, U]),
		}
		defer g.in.Close() // before the scope waits for f's streams, whose groups may report that they are closed
		scope.OnClosed(func() { g.endAll(g.errRun) })
		var value T
		var none U
		g.source = startInto(g.in, s, &value, none)
		for open := true; open || len(g.owners) > 0; {
			event, err := g.in.Next()
			if err != nil {
				return err
			}
			over, err := event.Ended()
			owner := g.owners[event.From]
			switch {
			case err != nil:
				return err
			case event.From == g.source && over:
				open = false
				g.endAll(nil)
			case event.From == g.source:
				err = g.offer(key(value), value)
			case over:
				owner.closed.Refuse()
				owner.end(g.errRun)
				delete(g.owners, event.From)
				delete(g.owners, owner.closed)
				err = g.close(owner)
			case event.From == owner.closed:
				err = g.close(owner)
				event.From.Request()
			case !out.Deliver(event.Value):
				return nil
			default:
				event.From.Request()
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
	f      func(*group[T, K, U]) (Stream[U], error)
	errRun error                // the error of a group that is run a second time or too late
	in     *handoff.Receiver[U] // of s, without its values, of the streams that f makes, and of the groups' ends
	source *handoff.Source[U]
	groups map[K]*group[T, K, U]                  // the open groups
	owners map[*handoff.Source[U]]*group[T, K, U] // the groups by f's stream, and by their ends
}

// offer passes a value to the group of its key. It opens the group if necessary. Until the group is done with the
// value, s waits with it in its yield.
func (g *grouping[T, K, U]) offer(key K, v T) error {
	to := g.groups[key]
	if to == nil {
		to = &group[T, K, U]{key: key, errRun: g.errRun, feed: make(chan T, 1), source: g.source, closed: g.in.New()}
		made, err := g.f(to)
		if err != nil {
			return err
		}
		g.groups[key], g.owners[to.closed], g.owners[g.in.Start(made)] = to, to, to
	}
	to.offered++
	to.feed <- v
	return nil
}

// close removes a group, which is closed, from the open ones. A value that it has not received opens a new group. If
// the value had opened this group, it is dropped.
func (g *grouping[T, K, U]) close(gone *group[T, K, U]) error {
	if g.groups[gone.key] == gone {
		delete(g.groups, gone.key)
	}
	select {
	case v, ok := <-gone.feed:
		if ok && gone.offered > 1 {
			return g.offer(gone.key, v)
		}
		if ok {
			g.source.Request()
		}
	default:
	}
	return nil
}

// endAll ends the runs of all groups.
func (g *grouping[T, K, U]) endAll(err error) {
	for _, gone := range g.owners {
		gone.end(err)
	}
}

// group is the values of one key.
type group[T any, K comparable, U any] struct {
	key     K
	errRun  error
	source  *handoff.Source[U] // of s, which waits while the group has a value
	feed    chan T             // closed when no more values come, after err is written
	offered int                // number of values
	err     error              // set if f's stream was over before s
	ended   bool               // feed is closed
	used    atomic.Bool        // the group has been run
	closed  *handoff.Source[U] // has a value when the run has returned
}

// end ends the group's run with err.
func (g *group[T, K, U]) end(err error) {
	if !g.ended {
		g.ended, g.err = true, err
		close(g.feed)
	}
}

// run is the stream that f receives.
func (g *group[T, K, U]) run(ctx context.Context, yield func(T) bool) error {
	if g.used.Swap(true) {
		return g.errRun
	}
	var none U
	defer g.closed.Deliver(none)
	for {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		select {
		case v, ok := <-g.feed:
			if !ok {
				return ending.Error(ctx, g.err)
			}
			if !yieldAndRequest(v, yield, g.source.Request) {
				return nil
			}
		case <-ctx.Done():
		}
	}
}

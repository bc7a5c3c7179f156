package operators

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// GroupBy splits s into groups of values with the same key, and returns the stream of the values of all the streams
// that f makes of them, interleaved as they come. f is called for a key when its first value comes; the group that it
// is given yields that value and the later ones of the key, until s ends.
//
//	s:                         --a---b---a---a---b--|
//	group a, counted:            1-------2---3------|
//	group b, counted:                1-----------2--|
//	GroupBy(letter, counted):  --1---1---2---3---2--|
//
// It ends when s and all of f's streams have ended. The first error, of s or of one of f's streams, cancels all others
// and is returned when they have returned; a group does not see it.
//
// It differs from ReactiveX, whose groupBy yields the groups and leaves it to the consumer to run them: there a group
// that nobody runs, or a flatMap with too low a concurrency, stalls the source, or fills memory, or loses values. Here
// GroupBy runs them, all side by side, as groupBy followed by an unbounded flatMap does.
//
// A group is closed once f's stream has ended or no longer runs it (group.Take(10), group.Timeout(…).Catch(…)), and the
// next value of its key opens a new one, by another call of f. A value that opens a group which closes without having
// taken it is dropped. A group is run once, while f's stream runs. A second run fails with stream.ErrNotRestartable, and
// so does one that begins later or outlives f's stream, as may happen to a group that is handed out.
//
// key and f are called on the caller's goroutine; s and each of f's streams run on goroutines of their own. Nothing is
// buffered: s waits until the group has taken the value, so a group that is busy holds up s, and so the groups of all keys,
// when the next value is for it; give it room with group.Buffer(n). An f whose stream runs its group late, after a Timer or
// behind a Concat, stalls all keys until then. f must not return nil: the stream fails then. A nil s, key or f panics.
func GroupBy[T any, K comparable, U any](s stream.Stream[T], key func(T) K, f func(key K, group stream.Stream[T]) stream.Stream[U]) stream.Stream[U] {
	notNil("GroupBy", "s", s == nil)
	notNil("GroupBy", "key", key == nil)
	notNil("GroupBy", "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		g := grouping[T, K, U]{
			f:      f,
			groups: make(map[K]*group[T, K]),
			owners: make(map[*relay.Source[U]]*group[T, K]),
		}
		defer g.cutAll()
		return relay.Run(ctx, func(scope *relay.Scope) error {
			g.out = relay.NewInlet[U](scope)
			in := relay.NewInlet[T](scope)
			source := in.Start(s)
			for open := true; open || len(g.owners) > 0; {
				if err := scope.Err(); err != nil {
					return err
				}
				// While a value waits for its group, s is held in its yield and in is silent.
				var feed chan<- T
				var closed <-chan struct{}
				if g.next != nil {
					feed, closed = g.next.feed, g.next.closed
				}
				select {
				case event := <-in.C():
					if over, err := event.Ended(); err != nil {
						return ending.Under(ctx, err)
					} else if over {
						open = false
						g.closeAll()
						continue
					}
					if err := g.offer(key(event.Value), event.Value); err != nil {
						return err
					}
				case feed <- g.value:
					g.taken()
					source.Resume()
				case <-closed:
					dropped, err := g.refused(g.next)
					if err != nil {
						return err
					} else if dropped {
						source.Resume()
					}
				case event := <-g.out.C():
					over, err := event.Ended()
					if err != nil {
						return ending.Under(ctx, err)
					}
					if !over {
						if !yield(event.Value) {
							return nil
						}
						event.Source.Resume()
						continue
					}
					gone := g.owners[event.Source]
					delete(g.owners, event.Source)
					gone.end(true)
					dropped, err := g.refused(gone)
					if err != nil {
						return err
					} else if dropped {
						source.Resume()
					}
				case <-ctx.Done():
				}
			}
			return scope.Err()
		})
	}
}

// grouping is one run of GroupBy.
type grouping[T any, K comparable, U any] struct {
	f      func(K, stream.Stream[T]) stream.Stream[U]
	out    *relay.Inlet[U]
	groups map[K]*group[T, K]                // those that are open
	owners map[*relay.Source[U]]*group[T, K] // by the stream that f made of them
	next   *group[T, K]                      // the one that a value waits for, if any
	value  T                                 // the value
	fresh  bool                              // the value has opened its group
}

// offer has the value v wait for the group of its key, which it opens if need be.
func (g *grouping[T, K, U]) offer(key K, v T) error {
	g.value = v
	if g.next, g.fresh = g.groups[key], false; g.next != nil {
		return nil
	}
	opened := &group[T, K]{key: key, feed: make(chan T), closed: make(chan struct{})}
	made := g.f(key, opened.run)
	if made == nil {
		return nilStream("GroupBy")
	}
	g.groups[key], g.next, g.fresh = opened, opened, true
	g.owners[g.out.Start(made)] = opened
	return nil
}

// taken is called when the value that waited has found its group.
func (g *grouping[T, K, U]) taken() {
	var none T
	g.next, g.value = nil, none
}

// refused takes the group, which is closed, from the open ones. A value that waits for it opens another group, or is
// dropped, if it has opened this one.
func (g *grouping[T, K, U]) refused(gone *group[T, K]) (dropped bool, err error) {
	if g.groups[gone.key] == gone {
		delete(g.groups, gone.key)
	}
	switch {
	case g.next != gone:
		return false, nil
	case g.fresh:
		g.taken()
		return true, nil
	}
	return false, g.offer(gone.key, g.value)
}

// closeAll ends the groups: s has ended.
func (g *grouping[T, K, U]) closeAll() {
	for _, open := range g.groups {
		open.end(false)
	}
	clear(g.groups)
}

// cutAll ends the runs that outlive f's streams, which are over.
func (g *grouping[T, K, U]) cutAll() {
	for _, gone := range g.owners {
		gone.end(true)
	}
}

// group is the values of one key.
type group[T any, K comparable] struct {
	key    K
	feed   chan T        // closed when no more values come; what follows is written before
	cut    bool          // f's stream was over before s
	ended  bool          // feed is closed
	used   atomic.Bool   // it has been run
	closed chan struct{} // closed when that run has returned
}

func (g *group[T, K]) end(cut bool) {
	if !g.ended {
		g.ended, g.cut = true, cut
		close(g.feed)
	}
}

// run is the stream that f is given.
func (g *group[T, K]) run(ctx context.Context, yield func(T) bool) error {
	if g.used.Swap(true) {
		return errGroupRun
	}
	defer close(g.closed)
	for {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		select {
		case v, open := <-g.feed:
			switch {
			case !open && g.cut:
				return ending.Under(ctx, errGroupRun)
			case !open:
				return ending.Of(ctx)
			}
			if !yield(v) {
				return nil
			}
		case <-ctx.Done():
		}
	}
}

var errGroupRun = fmt.Errorf("operators: GroupBy: a group is run once, while f's stream runs: %w", stream.ErrNotRestartable)

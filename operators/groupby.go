package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// GroupBy splits s into groups of values with the same key, runs the stream that f returns for each group, and yields
// the values of these streams as they come. f is called for a key when its first value comes. Its group yields that
// value and the later ones of the key, until s ends.
//
//	s:                         --a---b---a---a---b--|
//	group a, counted:            1-------2---3------|
//	group b, counted:                1-----------2--|
//	GroupBy(letter, counted):  --1---1---2---3---2--|
//
// It ends when s and all of f's streams have ended. The first error, of s or of one of f's streams, cancels all others
// and is returned when they have returned. A group does not see it. All that f's streams yield for the values before an
// error of s comes before it, unless they hold it back themselves, as Batch, Debounce and Buffer do.
//
// ReactiveX's groupBy differs: it yields the groups, and the consumer must run them. There, a group that nobody runs,
// or a flatMap with too low a concurrency, stalls the source, fills memory, or loses values. This GroupBy runs all
// groups, as groupBy followed by an unbounded flatMap does.
//
// A group is closed when f's stream has ended or no longer runs the group (group.Take(10), group.Timeout(…).Catch(…)).
// The next value of its key opens a new group, by another call of f. If a group closes without taking the value that
// opened it, that value is dropped. A group can be run once, while f's stream runs. A second run fails with
// stream.ErrNotRestartable, and so does a run that begins later or outlives f's stream, which is possible if f passes
// the group on.
//
// A key of an interface type must be comparable, as for Distinct.
//
// key and f are called on the caller's goroutine; s and each of f's streams run on goroutines of their own. Nothing is
// buffered: s continues when the group is done with the value, and the position of a Resume before GroupBy moves then.
// So a busy group delays s, and with it the groups of all keys. With group.Buffer(n), groups work at the same time: then
// s continues when the value is in the buffer, and an error of s drops what is in it. An f whose stream runs its group
// late, after a Timer or a Concat, stalls all keys until then.
func GroupBy[T any, K comparable, U any](s stream.Stream[T], key func(T) K, f func(key K, group stream.Stream[T]) stream.Stream[U]) stream.Stream[U] {
	return op.GroupBy(here, s, key, f)
}

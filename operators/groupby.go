package operators

import (
	"github.com/retrywhen/retrywhen/internal/op"
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
// taken it is dropped. A group is run once, while f's stream runs. A second run fails with stream.ErrNotRestartable,
// and so does one that begins later or outlives f's stream, as may happen to a group that is handed out.
//
// key and f are called on the caller's goroutine; s and each of f's streams run on goroutines of their own. Nothing is
// buffered: s waits until the group has taken the value, so a group that is busy holds up s, and so the groups of all
// keys, when the next value is for it; give it room with group.Buffer(n). An f whose stream runs its group late, after
// a Timer or behind a Concat, stalls all keys until then. f must not return nil: the stream fails then.
func GroupBy[T any, K comparable, U any](s stream.Stream[T], key func(T) K, f func(key K, group stream.Stream[T]) stream.Stream[U]) stream.Stream[U] {
	return op.GroupBy(here, s, key, f)
}

package operators

import (
	"time"

	"github.com/retrywhen/retrywhen/internal/op"
	"github.com/retrywhen/retrywhen/stream"
)

// FlatMap runs the streams that f returns for the values of s, at most concurrency of them at once, and yields their
// values as they come. While concurrency of these inner streams run, s waits.
//
//	s:                --1--2--3--|
//	f(1):               -a----b|
//	f(2):                  -c----d|
//	f(3):                      -e|           s has waited with 3 until f(1) ended
//	FlatMap(2, f):    ---a--c-b-ed|
//
// FlatMap keeps no order, not even between streams of a single value; ConcatMap does. With an f that returns
// stream.Of(v).Delay(d), it delays each value by d, as ReactiveX's delay does; the method Delay makes its source wait
// meanwhile.
//
// It ends when s and all inner streams have ended. The first error, of s or of an inner stream, cancels all others and
// is returned when they have returned. After an error of s each inner stream may yield one more value, if it has the
// value at hand or yields it at once; then it is cancelled. Two things are lost: what an inner stream still waits for,
// such as the answer of a call, and what would follow that one value. MapRetry differs: it finishes what it has taken,
// because calls end and streams may not. The Example "hold the error" lets the inner streams end first: it catches the
// error before FlatMap and appends it to FlatMap's values.
//
// f is called on the caller's goroutine. Nothing is buffered: while the consumer processes a value, the inner stream it
// came from waits, and each other one can hold one more value. s and each inner stream run on goroutines of their own.
// With a concurrency of 1, FlatMap is ConcatMap and starts no goroutine. math.MaxInt is no limit, as in ReactiveX's
// plain flatMap.
func FlatMap[T, U any](s stream.Stream[T], concurrency int, f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.FlatMap(here, s, concurrency, f)
}

// ConcatMap runs the stream that f returns for each value of s, one after the other, and yields their values. While one
// of these inner streams runs, s waits.
//
//	s:               --1--------2--|
//	f(1):              --a--b|
//	f(2):                       --c|
//	ConcatMap(f):    ----a--b-----c|
//
// The first error, of s or of an inner stream, ends it.
func ConcatMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.ConcatMap(here, s, f)
}

// SwitchMap runs the stream that f returns for each value of s, until the next value of s comes, and yields its values.
// A new value of s cancels the inner stream that still runs. The next inner stream starts when that one has returned;
// no value of the cancelled stream comes after the new value of s, and its error does not count.
//
//	s:               --1-------2-----3---|
//	f(1):              -a-b-c-d-e|
//	f(2):                      -f-----g|
//	f(3):                            -h|
//	SwitchMap(f):    ---a-b-c-d-f-----h--|
//
// An inner stream of Resume starts over with each value of s: to change what a feed subscribes to, keep the topics and
// their positions outside, as the recipe subscriptions does.
//
// It ends when s and the last inner stream have ended. The first error, of s or of the latest inner stream, cancels the
// other and is returned. An error of s cancels the inner stream of the last value only after that stream has begun:
// what it yields at once, and until it returns, comes before the error. FlatMap's comment shows how to let it end
// first.
//
// s runs on its own goroutine, the inner streams and f on the caller's. While the consumer processes a value, s can run
// to its next value and waits there.
func SwitchMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.SwitchMap(here, s, f)
}

// ExhaustMap runs the stream that f returns for a value of s and yields its values; values of s that come while this
// inner stream runs are dropped. It is the opposite of SwitchMap: use it for a button that must not start the same job
// twice.
//
//	s:                 --1--2-----3-------|
//	f(1):                -a--b--c|
//	f(3):                         -g--h|
//	ExhaustMap(f):     ---a--b--c--g--h---|
//
// It ends when s and the last inner stream have ended. The first error, of s or of an inner stream, cancels the other
// and is returned. An error of s cancels an inner stream only after the inner stream has begun: what it yields at once,
// and until it returns, comes before the error. FlatMap's comment shows how to let it end first.
//
// s runs on its own goroutine and waits only while f is called; the inner streams and f run on the caller's. An inner
// stream runs until the consumer is done with its last value. Values of s that come at the same time as the end of an
// inner stream may or may not be dropped.
func ExhaustMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	return op.ExhaustMap(here, s, f)
}

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
// So a busy group delays s, and with it the groups of all keys. With group.Buffer(n), groups work at the same time:
// then s continues when the value is in the buffer, and an error of s drops what is in it. An f whose stream runs its
// group late, after a Timer or a Concat, stalls all keys until then.
func GroupBy[T any, K comparable, U any](s stream.Stream[T], key func(T) K, f func(key K, group stream.Stream[T]) stream.Stream[U]) stream.Stream[U] {
	return op.GroupBy(here, s, key, f)
}

// Window splits s into consecutive windows, runs the stream that f returns for each window, one after the other, and
// yields their values. A window closes when its number of values is most, or when span has passed since it opened,
// whichever is sooner. It is Batch without the buffer: f's stream sees each value as it comes.
//
//	s:                       --1-2-3-4-5-|
//	Window(2, 0, sum):       ----3---7---5|
//
//	s:                       --1-2---------3--|
//	Window(max, 5, count):   -----2----0----1-0|
//
// With a span, the first window opens when the stream is run, and each next one when the one before is done, so windows
// may be empty. A span of 0 is no limit in time: then a window opens with its first value, and none is empty. For no
// limit by count, use math.MaxInt.
//
// It ends when s and f's last stream have ended. If s fails, the window fails with that error, and the stream fails
// with it when f's stream has returned, whatever f's stream returns. An error of one of f's streams ends the stream.
// Values that f's stream does not take, because it has ended or never ran its window, are dropped until the window
// closes. A window can be run once, while f's stream runs. A second run fails with stream.ErrNotRestartable, and so
// does a run that begins later or outlives f's stream, which is possible if f passes the window on.
//
// ReactiveX's window differs: it yields the windows, and the consumer must run them. Windows do not overlap: while an
// f's stream lasts longer than its window, s waits, and the next window opens when that stream has ended.
//
// s continues when f's stream is done with a value, or when the value is dropped, and the position of a Resume before
// Window moves then. What f's stream delivers for the whole window comes later.
//
// f and its streams run on the caller's goroutine, and s on its own. A value that comes exactly when the time is over
// may be in the window or in the next.
func Window[T, U any](s stream.Stream[T], most int, span time.Duration, f func(window stream.Stream[T]) stream.Stream[U]) stream.Stream[U] {
	return op.Window(here, s, most, span, f)
}

// Batch collects the values of s in slices. It delivers a slice when its length is most, or when wait has passed since
// its first value came, whichever is sooner. The rest is delivered when s ends, and also when s fails, before the
// error. When ctx ends, the rest is dropped. No batch is empty.
//
//	s:              --a-b-c----d---------e-f-|
//	Batch(3, 5):    ------[abc]-----[d]------[ef]|
//
// With a wait of 0 there is no limit in time, and Batch starts no goroutine. Otherwise s runs on its own goroutine and
// fills the batch there. While the consumer processes a batch, s can run to its next value and waits there; with a wait
// of 0 it cannot run ahead. A value that comes exactly when the time is over may or may not be in the batch.
//
// Batch buffers up to most values; math.MaxInt is no limit. The position of a Resume before Batch moves when Batch
// takes a value, not when the consumer is done with the batch. The consumer may keep each slice. To end a flow without
// losing its last batch, use TakeUntil on s, not a cancel. If a FlatMap after Batch writes the batches, an error of s
// cancels these writes. ConcatMap and TryMap write the rest first; FlatMap's comment shows how FlatMap does.
func Batch[T any](s stream.Stream[T], most int, wait time.Duration) stream.Stream[[]T] {
	return op.Batch[T, []T](here, s, most, wait)
}

package operators

import (
	"context"
	"fmt"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/stream"
)

// Resume is RetryWhen for a source that has a position, such as an offset, an id or a revision: each attempt continues
// where the last one stopped. Each attempt runs open(at). At first, at is start; then it is what after(at, v) returned
// for the last value v that the consumer has taken. h answers the failures as in RetryWhen.
//
//	open(0)   --1--2--#
//	open(2)              --3--#
//	open(3)                      --4--|
//	h         --------0--     0--
//	result    --1--2-------3-------4--|
//
// Each subscription has its own position, and begins at start. The position moves when the consumer's yield has
// returned true, not for a value at which the consumer has stopped or panicked. So no value is skipped, whatever
// operators open uses, if each value has a position of its own and they come in order. If several values share one, as
// the rows of a transaction do, or the events of one instant, a break between them loses the rest (if open begins after
// the position) or repeats the first ones (if it begins at it): use [ResumeMarked], or a position that adds an id. Use
// ResumeMarked too if the source reports positions without a value. A token of a page is no position of its values: use
// [Poll].
//
// A consumer that passes values on has taken them: with Buffer, Batch, Window, Chans or MapRetry after Resume, the
// position is ahead of the effects. To begin where the effects stopped, store the position with each effect and use it
// as start. If start must be loaded first, do so in a stream.Defer around Resume. A consumer whose work may fail
// repeats it inside the call that takes the value, with retry.Run in the f of TryForEach or retry.Do in that of TryMap:
// the position does not move before that is done.
//
// after must be pure. It may return at itself, for an event without an id. It may return a position that is not part of
// v, such as a sum, or an array with an entry for each partition (a map must be copied for each value: one that is
// changed in place would be shared by all runs). A position is a name that the next connection understands, never a
// handle, such as an iterator or a cursor, which ends with its connection or expires.
//
// What belongs inside open and what after Resume:
//
//   - Inside open, values must come in the order of their positions. A Merge can move the position backwards, and then
//     values come twice.
//   - A Filter inside open does not move the position until a value passes; a Filter after Resume does. Filter
//     heartbeats without a position inside open, so that retry.ResetAfterItems(1) measures progress.
//   - A Timeout inside open makes silence a failure, and MustNotEnd the end of the source. Without MustNotEnd, the
//     stream ends when open's stream ends.
//   - If an operator inside open always fails at one value, that value comes back with every attempt. Parse after
//     Resume, or return a stream.Permanent error, or yield the value with its error and handle it separately.
//   - A retry inside open begins at open's at. A retry after Resume begins at start, so values come twice.
//   - If the source has lost a position (410 Gone, a purged log), open must catch the error and continue from a
//     snapshot. A snapshot of several rows needs ResumeMarked.
//
// If open returns a nil stream, the error is not retried. A panic of open reaches the caller. Resume starts no
// goroutine and allocates nothing per value.
func Resume[T, P any](start P, open func(at P) stream.Stream[T], after func(at P, v T) P, h stream.RetryHandler) stream.Stream[T] {
	here.NotNil("Resume", "open", open == nil)
	here.NotNil("Resume", "after", after == nil)
	return resume("Resume", start, open, after, h)
}

func resume[T, P any](operator string, start P, open func(at P) stream.Stream[T], after func(at P, v T) P, h stream.RetryHandler) stream.Stream[T] {
	requireHandler(operator, h)
	return func(ctx context.Context, yield func(T) bool) error {
		at := start
		attempt := func(ctx context.Context, yield func(T) bool) error {
			s := open(at)
			if s == nil {
				return stream.Permanent(fmt.Errorf("operators: %s: open returned a nil stream", operator))
			}
			return s(ctx, yield)
		}
		return stream.Stream[T](attempt).RetryWhen(h)(ctx, func(v T) bool {
			if !yield(v) {
				return false
			}
			at = after(at, v)
			return true
		})
	}
}

// requireHandler panics if an operator's handler is nil.
func requireHandler(operator string, h stream.RetryHandler) {
	here.NotNil(operator, "h", attempt.IsNil(h))
}

// Marked is what the source of ResumeMarked and ResumePositions yields: a value and the position after it, or, as a
// Bookmark, only a position.
//
// The last value of a group that shares a position, such as the rows of a transaction, bears the position after the
// group. The others bear the position before the group, and then a group that is cut comes again whole; or a position
// that counts within the group, and then each value comes once. If a filter inside open drops the last value of a
// group, it must yield a Bookmark in its place, or the position stays.
type Marked[T, P any] struct {
	// Value is the value, unless this is a Bookmark.
	Value T
	// At is where to continue once Value has been taken. It may go back: at the beginning of a snapshot it is the start.
	At P
	// Bookmark says that there is no Value. A bookmark moves the position and shows that the attempt works, as
	// stream.Works does, but it is no progress: stream.Failure's Items, retry.ResetAfterItems, retry.BeforeFirstItem
	// and a budget do not count it.
	Bookmark bool
}

// ResumeMarked is Resume for a source that sends its positions: the id of a server-sent event, a resume token, a
// BOOKMARK of Kubernetes, a progress notification of etcd, the offset after a control record. Each attempt runs
// open(at). At first, at is start; then it is the At of the last Marked that was taken: a value when the consumer's
// yield has returned true, a Bookmark at once. [ResumePositions] delivers the positions too. h answers the failures as
// in RetryWhen.
//
//	open(0)   --a1--b2--(3)--#         (3) is a bookmark, a1 the value a at 1
//	open(3)                      --c4--|
//	h         ---------------0
//	result    --a---b--------------c---|
//
// What the comment of Resume says about the position, about what belongs inside open, and about operators after it that
// keep values is true here too, with these differences. The position need not be part of the value. Values that share
// one are not lost: see [Marked]. A filter inside open that turns what it drops into a Bookmark moves the position.
//
// Inside open a Bookmark is a value like any other: a Timeout there sees that the source is alive, a Take counts it, a
// Debounce or Sample may drop a value for it. A source that may be idle for long, whose connections deliver bookmarks
// alone, needs retry.ResetAfter(d) in addition to retry.ResetAfterItems(1): else a Limit counts its ordinary
// reconnects.
//
// If open returns a nil stream, the error is not retried. A panic of open reaches the caller. ResumeMarked starts no
// goroutine and allocates nothing per value.
func ResumeMarked[T, P any](start P, open func(at P) stream.Stream[Marked[T, P]], h stream.RetryHandler) stream.Stream[T] {
	resume := resumePositions("ResumeMarked", start, open, h)
	return func(ctx context.Context, yield func(T) bool) error {
		return resume(ctx, func(m Marked[T, P]) bool { return m.Bookmark || yield(m.Value) })
	}
}

// ResumePositions is ResumeMarked with the positions: it delivers what open yields, Bookmarks too. So the consumer can
// store the position with each effect, and that of a source that is idle: without the Bookmarks, a restart long after
// the last value would ask for a position that the source has dropped.
//
//	open(0)   --a1--b2--(3)--#         (3) is a bookmark, a1 the value a at 1
//	open(3)                      --c4--|
//	h         ---------------0
//	result    --a1--b2--(3)------c4----|
//
// The position moves when the consumer's yield has returned true, for a Bookmark too. Of a group whose rows bear the
// position before it, store the effects of all rows with the last one's position, in one transaction. Everything else
// is as in ResumeMarked.
func ResumePositions[T, P any](start P, open func(at P) stream.Stream[Marked[T, P]], h stream.RetryHandler) stream.Stream[Marked[T, P]] {
	return resumePositions("ResumePositions", start, open, h)
}

func resumePositions[T, P any](
	operator string, start P, open func(at P) stream.Stream[Marked[T, P]], h stream.RetryHandler,
) stream.Stream[Marked[T, P]] {
	here.NotNil(operator, "open", open == nil)
	counted := func(at P) stream.Stream[Marked[T, P]] {
		s := open(at)
		if s == nil {
			return nil
		}
		return func(ctx context.Context, yield func(Marked[T, P]) bool) error {
			counts := ctx.(attempt.Counter)
			return s(ctx, func(m Marked[T, P]) bool {
				if m.Bookmark {
					counts.NoProgress()
					stream.Works(ctx)
				}
				return yield(m)
			})
		}
	}
	return resume(operator, start, counted, func(_ P, m Marked[T, P]) P { return m.At }, h)
}

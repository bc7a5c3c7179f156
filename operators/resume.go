package operators

import (
	"context"
	"errors"

	"github.com/retrywhen/retrywhen/stream"
)

// Resume returns the stream that comes back where it stopped: RetryWhen for a source that has a position, such as an
// offset, an id, a revision or a page token. Each attempt runs open(at). There at is start at first, and then what
// after(at, v) has returned for each value v that the consumer has taken. h answers the failures as in RetryWhen.
//
//	open(0)   --1--2--#
//	open(2)              --3--#
//	open(3)                      --4--|
//	h         --------0--     0--
//	result    --1--2-------3-------4--|
//
// The position belongs to the subscription: each run begins at start. It moves when the consumer's yield has returned
// true, and not for a value at which the consumer has stopped or panicked. So no value is skipped, whatever operators
// open uses, and a value comes twice only if the source repeats it: drop what is not behind at inside open. A consumer
// that hands values on has taken them: behind Resume the position runs ahead of the effects with Buffer, Batch, Window,
// Chans and MapRetry. To begin where the effects stopped, store the position with each effect and make it start.
//
// after is pure; it may return at itself, for an event without an id, or what is no part of v, such as a sum or a map
// with an entry for each partition (a copy: a map that is changed in place belongs to all runs). A position that
// comes without a value, a bookmark, travels in the value: let open yield both in one type, and Filter behind Resume.
//
// What happens inside open and what behind Resume:
//
//   - Inside, values come in the order of their positions: a Merge can move the position backwards, and then values
//     come twice.
//   - A Filter inside holds the position back until a value passes; one behind Resume does not. Heartbeats that bear no
//     position are filtered inside, so that retry.ResetAfterItems(1) means progress.
//   - A Timeout inside makes silence a failure, and MustNotEnd an end: else a good end of open's stream is the end.
//   - A value at which a stage inside always fails comes back with every attempt. Parse behind Resume, or return a
//     stream.Permanent error, or yield the value with its error and put it aside.
//   - A retry inside begins at open's at, and one behind Resume at start, so that values come twice.
//   - A position that the source has lost (410 Gone, a purged log) is for open to answer: it catches the error and goes
//     on from a snapshot.
//
// A nil stream of open is an error that is not retried; a panic of open passes through. Resume starts no goroutine and
// allocates nothing for a value.
func Resume[T, P any](start P, open func(at P) stream.Stream[T], after func(at P, v T) P, h stream.RetryHandler) stream.Stream[T] {
	notNil("Resume", "open", open == nil)
	notNil("Resume", "after", after == nil)
	f, ok := h.(stream.RetryHandlerFunc)
	notNil("Resume", "h", h == nil || ok && f == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		at := start
		attempt := func(ctx context.Context, yield func(T) bool) error {
			s := open(at)
			if s == nil {
				return stream.Permanent(errors.New("operators: Resume: open returned a nil stream"))
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

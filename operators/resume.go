package operators

import (
	"context"
	"fmt"

	"github.com/retrywhen/retrywhen/stream"
)

// Resume is RetryWhen for a source that has a position, such as an offset, an id, a revision or a page token: each
// attempt continues where the last one stopped. Each attempt runs open(at). At first, at is start; then it is what
// after(at, v) returned for the last value v that the consumer has taken. h answers the failures as in RetryWhen.
//
//	open(0)   --1--2--#
//	open(2)              --3--#
//	open(3)                      --4--|
//	h         --------0--     0--
//	result    --1--2-------3-------4--|
//
// Each subscription has its own position, and begins at start. The position moves when the consumer's yield has
// returned true, not for a value at which the consumer has stopped or panicked. So no value is skipped, whatever
// operators open uses. A value comes twice only if the source repeats it: in that case open must drop the values that
// are not after at. A consumer that passes values on has taken them: with Buffer, Batch, Window, Chans or MapRetry
// after Resume, the position is ahead of the effects. To begin where the effects stopped, store the position with each
// effect and use it as start.
//
// after must be pure. It may return at itself, for an event without an id. It may return a position that is not part of
// v, such as a sum, or a map with an entry for each partition (a copy: a map that is changed in place would be shared
// by all runs). If the source reports a position without a value, a bookmark, let open yield both in one type, and
// Filter after Resume.
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
//     snapshot.
//
// If open returns a nil stream, the error is not retried. A panic of open reaches the caller. Resume starts no
// goroutine and allocates nothing per value.
func Resume[T, P any](start P, open func(at P) stream.Stream[T], after func(at P, v T) P, h stream.RetryHandler) stream.Stream[T] {
	here.NotNil("Resume", "open", open == nil)
	here.NotNil("Resume", "after", after == nil)
	requireHandler("Resume", h)
	return func(ctx context.Context, yield func(T) bool) error {
		at := start
		attempt := func(ctx context.Context, yield func(T) bool) error {
			s := open(at)
			if s == nil {
				return errNilOpen("Resume")
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
	f, ok := h.(stream.RetryHandlerFunc)
	here.NotNil(operator, "h", h == nil || ok && f == nil)
}

func errNilOpen(operator string) error {
	return stream.Permanent(fmt.Errorf("operators: %s: open returned a nil stream", operator))
}

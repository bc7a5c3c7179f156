package stream

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Delay holds each value for d before it delivers it. The source waits meanwhile, so values come at least d apart. The
// end and an error are not delayed. Delay(0) is the stream itself.
//
// ReactiveX's delay keeps the time between the values; that is [Stream.TimeShift] here.
//
//	source:                   a--b--c|
//	Delay(2):                 --a----b----c|
func (s Stream[T]) Delay(d time.Duration) Stream[T] {
	s.require("Delay")
	requireWait("Delay: d", d)
	if d == 0 {
		return s
	}
	return func(ctx context.Context, yield func(T) bool) error {
		timer := newTimer(ctx)
		stopped := false
		var cause error
		err := s(ctx, ending.Until(&stopped, func(v T) bool {
			cause = timer.Wait(ctx, d)
			return cause == nil && yield(v)
		}))
		if stopped {
			return cause
		}
		return err
	}
}

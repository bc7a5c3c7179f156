package op

import (
	"context"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// SwitchMap is operators.SwitchMap.
func SwitchMap[T, U any, S ~func(context.Context, func(U) bool) error](p Package, s Stream[T], f func(T) S) Stream[U] {
	return oneAtATime(p, "SwitchMap", s, f, func(inner *innerRun) (wanted bool) {
		inner.interrupt()
		return true
	})
}

// ExhaustMap is operators.ExhaustMap.
func ExhaustMap[T, U any, S ~func(context.Context, func(U) bool) error](p Package, s Stream[T], f func(T) S) Stream[U] {
	return oneAtATime(p, "ExhaustMap", s, f, func(inner *innerRun) (wanted bool) {
		return !inner.runs.Load() || inner.ctx.Err() != nil
	})
}

// innerRun is the run of an inner stream, on the caller's goroutine.
type innerRun struct {
	*interruption
	runs *atomic.Bool
}

// oneAtATime runs one inner stream at a time, on the caller's goroutine. next is called for each new value of s, on the
// goroutine of s. It may interrupt the inner stream, and reports whether the value gets an inner stream.
func oneAtATime[T, U any, S ~func(context.Context, func(U) bool) error](p Package, operator string, s Stream[T], f func(T) S, next func(*innerRun) bool) Stream[U] {
	p.NotNil(operator, "s", s == nil)
	p.NotNil(operator, "f", f == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		ctx := scope.Context()
		// The interruption is replaced only while s waits in its yield, so no lock is needed.
		inner := &innerRun{interruptible(ctx), new(atomic.Bool)}
		defer func() { inner.cancel() }()
		deliver := func(v U) bool { return !inner.interrupted() && out.Deliver(v) }

		outer := handoff.NewReceiver[T](scope)
		outer.Start(func(ctx context.Context, yield func(T) bool) error {
			ended := false
			defer func() {
				if !ended && ctx.Err() == nil {
					inner.interrupt() // because of an error or a panic
				}
			}()
			err := s(ctx, func(v T) bool { return !next(inner) || yield(v) })
			ended = err == nil
			return err
		})
		for {
			event, err := outer.Next()
			if err != nil {
				return err
			}
			if over, err := event.Ended(); over {
				return err
			}
			made := f(event.Value)
			if made == nil {
				return p.nilStream(operator)
			}
			inner.cancel()
			inner.interruption = interruptible(ctx)
			inner.runs.Store(true)
			event.From.Request()
			err = made(inner.ctx, deliver)
			inner.runs.Store(false)
			if out.Stopped() || ctx.Err() != nil || err != nil && !inner.interrupted() {
				return err
			}
		}
	})
}

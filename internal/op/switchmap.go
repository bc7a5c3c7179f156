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
		return !inner.runs.Load() || inner.context.Context.Err() != nil
	})
}

// innerRun is the run of an inner stream, on the caller's goroutine.
type innerRun struct {
	*interruption
	context     *handoff.Inner // the context of the inner stream, that of the interruption
	runs        atomic.Bool
	outerFailed atomic.Bool
}

// next replaces the inner run by a new one.
func (r *innerRun) next(ctx context.Context) {
	r.interruption = interruptible(ctx)
	r.context = handoff.NewInner(r.ctx, r.cancel)
}

// replacing returns s, whose failure cancels the inner run once it has begun, and whose panic interrupts it. next is
// oneAtATime's.
func replacing[T any](s Stream[T], inner *innerRun, next func(*innerRun) bool) Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		returned := false
		defer func() {
			if !returned {
				inner.interrupt()
			}
		}()
		err := s(ctx, func(v T) bool { return !next(inner) || yield(v) })
		if returned = true; err != nil && ctx.Err() == nil {
			inner.outerFailed.Store(true)
			handoff.CancelInner(inner.context)
		}
		return err
	}
}

// oneAtATime runs one inner stream at a time, on the caller's goroutine. next is called for each new value of s, on the
// goroutine of s. It may interrupt the inner stream, and reports whether the value gets an inner stream.
func oneAtATime[T, U any, S ~func(context.Context, func(U) bool) error](p Package, operator string, s Stream[T], f func(T) S, next func(*innerRun) bool) Stream[U] {
	require(p, operator, s, "f", f == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		ctx := scope.Context()
		// The run is replaced only while s waits in its yield, so no lock is needed.
		inner := new(innerRun)
		inner.next(ctx)
		defer func() { inner.context.End() }()
		deliver := func(v U) bool {
			more := !inner.interrupted() && out.Deliver(v)
			inner.context.Begin()
			return more
		}
		outer := handoff.NewReceiver[T](scope)
		outer.Start(replacing(s, inner, next))
		for {
			event, err := outer.Next()
			if err != nil {
				return err
			}
			if over, err := event.Ended(); over {
				return err
			}
			made, err := madeBy[U](p, operator, f(event.Value))
			if err != nil {
				return err
			}
			inner.context.End()
			inner.next(ctx)
			inner.runs.Store(true)
			event.From.Request()
			err = made(inner.context, deliver)
			inner.context.Begin()
			inner.runs.Store(false)
			if out.Stopped() || ctx.Err() != nil || err != nil && !inner.interrupted() && !inner.outerFailed.Load() {
				return err
			}
		}
	})
}

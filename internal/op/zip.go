package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// ZipWith is operators.ZipWith under the name of operator.
func ZipWith[A, B, C any](p Package, operator string, a Stream[A], b Stream[B], f func(A, B) C) Stream[C] {
	p.NotNil(operator, "a", a == nil)
	p.NotNil(operator, "b", b == nil)
	p.NotNil(operator, "f", f == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[C]) error {
		run := interruptible(scope.Context()) // a's, interrupted when b has ended
		defer run.cancel()
		seconds := handoff.NewReceiver[B](scope)
		seconds.Start(func(ctx context.Context, yield func(B) bool) error {
			defer func() {
				if ctx.Err() == nil {
					run.interrupt()
				}
			}()
			return b(ctx, yield)
		})
		// next returns b's next value, or false and b's end.
		next := func() (handoff.Event[B], bool, error) {
			event, err := seconds.Next()
			if err != nil {
				return event, false, err
			}
			over, err := event.Ended()
			return event, !over, err
		}
		var end error
		over := false
		err := a(run.ctx, func(first A) bool {
			if over {
				return false
			}
			event, ok, err := next()
			if !ok || !out.Deliver(f(first, event.Value)) {
				over, end = true, err
				return false
			}
			event.From.Request()
			return true
		})
		switch {
		case over:
			return end
		case run.interrupted():
			_, _, err = next() // b's end: b has no value left, else a would have received it
		}
		return err
	})
}

// ZipWith3 is operators.ZipWith3.
func ZipWith3[A, B, C, D any](p Package, a Stream[A], b Stream[B], c Stream[C], f func(A, B, C) D) Stream[D] {
	p.NotNil("ZipWith3", "a", a == nil)
	p.NotNil("ZipWith3", "b", b == nil)
	p.NotNil("ZipWith3", "c", c == nil)
	p.NotNil("ZipWith3", "f", f == nil)
	ab := ZipWith(p, "ZipWith3", a, b, newTwo[A, B])
	return ZipWith(p, "ZipWith3", ab, c, func(t two[A, B], c C) D { return f(t.a, t.b, c) })
}

// two are the values of the first two streams of three.
type two[A, B any] struct {
	a A
	b B
}

func newTwo[A, B any](a A, b B) two[A, B] { return two[A, B]{a, b} }

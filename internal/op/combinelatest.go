package op

import (
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// CombineLatest is operators.CombineLatest.
func CombineLatest[A, B, C any](p Package, a Stream[A], b Stream[B], f func(A, B) C) Stream[C] {
	p.NotNil("CombineLatest", "a", a == nil)
	p.NotNil("CombineLatest", "b", b == nil)
	p.NotNil("CombineLatest", "f", f == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[C]) error {
		first, second := side[A]{in: handoff.NewReceiver[A](scope)}, side[B]{in: handoff.NewReceiver[B](scope)}
		first.in.Start(a)
		second.in.Start(b)
		combine := func() bool {
			return !first.some || !second.some || out.Deliver(f(first.last, second.last))
		}
		// It continues while there can be another combination.
		for !out.Stopped() && scope.Err() == nil &&
			(!first.ended || !second.ended) && !(first.ended && !first.some) && !(second.ended && !second.some) {
			var err error
			select {
			case event := <-first.in.C():
				err = first.receive(event, combine)
			case event := <-second.in.C():
				err = second.receive(event, combine)
			case <-scope.Context().Done():
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// CombineLatest3 is operators.CombineLatest3.
func CombineLatest3[A, B, C, D any](p Package, a Stream[A], b Stream[B], c Stream[C], f func(A, B, C) D) Stream[D] {
	p.NotNil("CombineLatest3", "a", a == nil)
	p.NotNil("CombineLatest3", "b", b == nil)
	p.NotNil("CombineLatest3", "c", c == nil)
	p.NotNil("CombineLatest3", "f", f == nil)
	ab := CombineLatest(p, a, b, newTwo[A, B])
	return CombineLatest(p, ab, c, func(t two[A, B], c C) D { return f(t.a, t.b, c) })
}

// side is one of the streams that are combined.
type side[T any] struct {
	in    *handoff.Receiver[T]
	last  T
	some  bool // it has had a value
	ended bool
}

// receive handles an event of the stream. combine reports whether the stream may continue after a value.
func (s *side[T]) receive(event handoff.Event[T], combine func() bool) (err error) {
	if s.ended, err = event.Ended(); s.ended {
		return err
	}
	s.last, s.some = event.Value, true
	if combine() {
		event.From.Request()
	}
	return nil
}

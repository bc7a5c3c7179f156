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
	return zip(a, func(z *zipping) func(A) C {
		second := addTo(z, b)
		return func(first A) C { return f(first, *second) }
	})
}

// ZipWith3 is operators.ZipWith3.
func ZipWith3[A, B, C, D any](p Package, a Stream[A], b Stream[B], c Stream[C], f func(A, B, C) D) Stream[D] {
	p.NotNil("ZipWith3", "a", a == nil)
	p.NotNil("ZipWith3", "b", b == nil)
	p.NotNil("ZipWith3", "c", c == nil)
	p.NotNil("ZipWith3", "f", f == nil)
	return zip(a, func(z *zipping) func(A) D {
		second, third := addTo(z, b), addTo(z, c)
		return func(first A) D { return f(first, *second, *third) }
	})
}

// ZipSlice is operators.ZipSlice.
func ZipSlice[T any, S ~func(context.Context, func(T) bool) error](p Package, s ...S) Stream[[]T] {
	streams := streamsOf[T](p, "ZipSlice", s)
	if len(streams) == 0 {
		return empty[[]T]
	}
	return zip(streams[0], func(z *zipping) func(T) []T {
		var others []*T
		for _, s := range streams[1:] {
			others = append(others, addTo(z, s))
		}
		return func(first T) []T {
			row := append(make([]T, 0, len(streams)), first)
			for _, v := range others {
				row = append(row, *v)
			}
			return row
		}
	})
}

// zipping is one run of a zip. One stream runs on the caller's goroutine, the others on goroutines of their own.
type zipping struct {
	first  *interruption // of the one on the caller's goroutine, when another one has ended
	in     *handoff.Receiver[struct{}]
	others []*handoff.Source[struct{}]
}

// addTo starts another stream of the zip, and returns where its value is while it waits in its yield.
func addTo[T any](z *zipping, s Stream[T]) *T {
	value := new(T)
	z.others = append(z.others, startInto(z.in, func(ctx context.Context, yield func(T) bool) error {
		defer func() {
			if ctx.Err() == nil {
				z.first.interrupt()
			}
		}()
		return s(ctx, yield)
	}, value, struct{}{}))
	return value
}

// next receives the next value of each of the others. It returns false when one has ended: all its values are used,
// because with an unused one it would wait in its yield.
func (z *zipping) next() (ok bool, err error) {
	for range z.others {
		event, err := z.in.Next()
		if err != nil {
			return false, err
		}
		if over, err := event.Ended(); over {
			return false, err
		}
	}
	return true, nil
}

// zip combines the values of a with those of the streams that begin adds.
func zip[A, C any](a Stream[A], begin func(*zipping) (combine func(A) C)) Stream[C] {
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[C]) error {
		z := &zipping{first: interruptible(scope.Context()), in: handoff.NewReceiver[struct{}](scope)}
		defer z.first.cancel()
		combine := begin(z)
		var end error
		over := false
		err := a(z.first.ctx, func(first A) bool {
			if over {
				return false
			}
			ok, err := z.next()
			if !ok || !out.Deliver(combine(first)) {
				over, end = true, err
				return false
			}
			for _, o := range z.others {
				o.Request()
			}
			return true
		})
		switch {
		case over:
			err = end
		case z.first.interrupted() && ending.Reaches(err, context.Canceled):
			err = nil // a has not failed: another one has ended, and Cancel returns its error
		}
		if err != nil {
			return err
		}
		return scope.Cancel()
	})
}

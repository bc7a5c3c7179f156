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
		return func(first A) C { return f(first, second.Value) }
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
		return func(first A) D { return f(first, second.Value, third.Value) }
	})
}

// zipping is one run of a zip. One stream runs on the caller's goroutine, the others on goroutines of their own.
type zipping struct {
	scope  *handoff.Scope
	first  *interruption // of the one on the caller's goroutine, when another one has ended
	others []pulled
}

// pulled is a stream whose values are received one at a time.
type pulled interface {
	next() (ok bool, err error) // receives the next value; false at the end
	request()                   // lets the stream continue after its value
}

// addTo starts another stream of the zip. The result is its present value, after next.
func addTo[T any](z *zipping, s Stream[T]) *other[T] {
	o := &other[T]{in: handoff.NewReceiver[T](z.scope)}
	o.in.Start(func(ctx context.Context, yield func(T) bool) error {
		defer func() {
			if ctx.Err() == nil {
				z.first.interrupt()
			}
		}()
		return s(ctx, yield)
	})
	z.others = append(z.others, o)
	return o
}

type other[T any] struct {
	in *handoff.Receiver[T]
	handoff.Event[T]
}

func (o *other[T]) next() (ok bool, err error) {
	if o.Event, err = o.in.Next(); err != nil {
		return false, err
	}
	over, err := o.Ended()
	return !over, err
}

func (o *other[T]) request() { o.From.Request() }

// next receives the next value of each of the others. It returns false when one has ended.
func (z *zipping) next() (ok bool, err error) {
	for _, o := range z.others {
		if ok, err := o.next(); !ok {
			return false, err
		}
	}
	return true, nil
}

// zip combines the values of a with those of the streams that begin adds.
func zip[A, C any](a Stream[A], begin func(*zipping) (combine func(A) C)) Stream[C] {
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[C]) error {
		z := &zipping{scope: scope, first: interruptible(scope.Context())}
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
				o.request()
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

package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// CombineLatest is operators.CombineLatest.
func CombineLatest[A, B, C any](p Package, a Stream[A], b Stream[B], f func(A, B) C) Stream[C] {
	p.NotNil("CombineLatest", "a", a == nil)
	p.NotNil("CombineLatest", "b", b == nil)
	p.NotNil("CombineLatest", "f", f == nil)
	return combineLatest(func(c *combining) func() C {
		first, second := add(c, a), add(c, b)
		return func() C { return f(*first, *second) }
	})
}

// CombineLatest3 is operators.CombineLatest3.
func CombineLatest3[A, B, C, D any](p Package, a Stream[A], b Stream[B], c Stream[C], f func(A, B, C) D) Stream[D] {
	p.NotNil("CombineLatest3", "a", a == nil)
	p.NotNil("CombineLatest3", "b", b == nil)
	p.NotNil("CombineLatest3", "c", c == nil)
	p.NotNil("CombineLatest3", "f", f == nil)
	return combineLatest(func(run *combining) func() D {
		first, second, third := add(run, a), add(run, b), add(run, c)
		return func() D { return f(*first, *second, *third) }
	})
}

// CombineLatestSlice is operators.CombineLatestSlice.
func CombineLatestSlice[T any, S ~func(context.Context, func(T) bool) error](p Package, s ...S) Stream[[]T] {
	streams := streamsOf[T](p, "CombineLatestSlice", s)
	return combineLatest(func(c *combining) func() []T {
		latest := make([]*T, len(streams))
		for i, s := range streams {
			latest[i] = add(c, s)
		}
		return func() []T {
			all := make([]T, len(latest))
			for i := range latest {
				all[i] = *latest[i]
			}
			return all
		}
	})
}

// combining is one run of a CombineLatest.
type combining struct {
	in    *handoff.Receiver[func()]        // a value makes the new value of its stream the latest one
	empty map[*handoff.Source[func()]]bool // the streams that have had no value
}

// add starts a stream that is combined with others, and returns where its latest value is.
func add[T any](c *combining, s Stream[T]) (latest *T) {
	var next T
	latest = new(T)
	c.empty[startInto(c.in, s, &next, func() { *latest = next })] = true
	return latest
}

// combineLatest delivers the result of combine for each value of the streams that begin adds, once all have had one.
func combineLatest[C any](begin func(*combining) (combine func() C)) Stream[C] {
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[C]) error {
		c := &combining{in: handoff.NewReceiver[func()](scope), empty: make(map[*handoff.Source[func()]]bool)}
		combine := begin(c)
		for running := len(c.empty); running > 0; {
			event, err := c.in.Next()
			if err != nil {
				return err
			}
			over, err := event.Ended()
			switch {
			case err != nil:
				return err
			case over && c.empty[event.From]:
				return scope.Cancel() // there can be no other combination
			case over:
				running--
				continue
			}
			event.Value()
			delete(c.empty, event.From)
			if len(c.empty) == 0 && !out.Deliver(combine()) {
				return nil
			}
			event.From.Request()
		}
		return nil
	})
}

package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// FlatMap returns the stream of the values of the streams that f returns for the values of s, which run side by side:
// at most so many at once as concurrency says, while s waits. Their values come as they are made, interleaved.
//
//	s:                --1--2--3--|
//	f(1):               -a----b|
//	f(2):                  -c----d|
//	f(3):                      -e|           s has waited with 3 until f(1) ended
//	FlatMap(2, f):    ---a--c-b-ed|
//
// It keeps no order, not even between streams of a single value; ConcatMap does. FlatMap(s, n, f) with an f that returns
// stream.Of(v).Delay(d) delays each value by d, as ReactiveX's delay does; the method Delay holds its source meanwhile.
//
// It ends when s and all inner streams have ended. The first error, of s or of an inner stream, cancels all others; it
// is returned when they have returned. f must not return nil: the stream fails then.
//
// f is called on the caller's goroutine. Nothing is buffered: while the consumer has a value in hand, the inner stream
// it came from waits until it is processed, and each other one can hold one more value. s and each inner stream run on
// goroutines of their own; with a concurrency of 1 FlatMap is ConcatMap and starts none. math.MaxInt is no limit, as
// in ReactiveX's plain flatMap. A nil s or f and a concurrency below 1 panic.
func FlatMap[T, U any](s stream.Stream[T], concurrency int, f func(T) stream.Stream[U]) stream.Stream[U] {
	notNil("FlatMap", "s", s == nil)
	if concurrency < 1 {
		panicf("FlatMap", "concurrency is %d, want at least 1", concurrency)
	}
	notNil("FlatMap", "f", f == nil)
	if concurrency == 1 {
		return concatMap("FlatMap", s, f)
	}
	return func(ctx context.Context, yield func(U) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		return relay.Run(ctx, func(scope *relay.Scope) error {
			outer := relay.NewInlet[T](scope)
			source := outer.Start(s)
			inner := crew[U]{in: relay.NewInlet[result[U]](scope)}
			open, waits := true, false // waits: s is held in its yield
			for open || inner.running > 0 {
				if err := scope.Err(); err != nil {
					return err
				}
				select {
				case event := <-outer.C():
					if over, err := event.Ended(); err != nil {
						return ending.Under(ctx, err)
					} else if over {
						open = false
						continue
					}
					next := f(event.Value)
					if next == nil {
						return nilStream("FlatMap")
					}
					inner.run(next)
					if inner.running < concurrency {
						source.Resume()
					} else {
						waits = true
					}
				case event := <-inner.in.C():
					if over, err := event.Ended(); err != nil {
						return ending.Under(ctx, err)
					} else if over {
						continue // a worker was dismissed
					}
					if !event.Value.end {
						if !yield(event.Value.value) {
							return nil
						}
						event.Source.Resume()
						continue
					}
					inner.rest(event.Value.by)
					if waits {
						waits = false
						source.Resume()
					}
				case <-ctx.Done():
				}
			}
			return scope.Err()
		})
	}
}

// crew runs inner streams, each on a worker's goroutine; a worker that is done with one takes the next, which costs a
// fraction of a new goroutine with its context and channels.
type crew[U any] struct {
	in      *relay.Inlet[result[U]]
	running int          // how many inner streams
	resting []*worker[U] // held in their yield
}

// spare is how many workers may rest beyond as many as run; a burst of streams leaves no more behind.
const spare = 8

// result is a value of an inner stream, or its good end.
type result[U any] struct {
	value U
	end   bool
	by    *worker[U] // at the end
}

type worker[U any] struct {
	source *relay.Source[result[U]]
	next   stream.Stream[U] // nil dismisses it; written before it runs and while it rests
}

// run runs the stream.
func (c *crew[U]) run(next stream.Stream[U]) {
	c.running++
	if last := len(c.resting) - 1; last >= 0 {
		w := c.resting[last]
		c.resting = c.resting[:last]
		w.next = next
		w.source.Resume()
		return
	}
	w := &worker[U]{next: next}
	w.source = c.in.Start(w.work)
}

// rest is called when the worker's stream has ended well.
func (c *crew[U]) rest(w *worker[U]) {
	c.running--
	w.next = nil
	if len(c.resting) >= c.running+spare {
		w.source.Resume()
		return
	}
	c.resting = append(c.resting, w)
}

// work is the worker's life: one stream after another.
func (w *worker[U]) work(ctx context.Context, hand func(result[U]) bool) error {
	deliver := func(v U) bool { return hand(result[U]{value: v}) }
	for w.next != nil {
		if err := w.next(ctx, deliver); err != nil {
			return err
		}
		if !hand(result[U]{end: true, by: w}) {
			return nil
		}
	}
	return nil
}

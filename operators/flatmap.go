package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// FlatMap returns the stream of the values of the streams that f returns for the values of s, which run side by side:
// at most so many at once as concurrency says, while s waits. Their values come as they are made, interleaved.
//
//	s:                --1--2---3--|
//	f(1):               -a----b|
//	f(2):                  -c----d|
//	f(3):                      (waits until f(1) has ended) -e|
//	FlatMap(2, f):    ---a--c-b--d-e|
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
		if err := ended(ctx); err != nil {
			return err
		}
		return relay.Run(ctx, func(scope *relay.Scope) error {
			outer, inner := relay.NewInlet[T](scope), relay.NewInlet[U](scope)
			source := outer.Start(s)
			running, open, waits := 0, true, false // waits: s is held in its yield
			for open || running > 0 {
				if err := scope.Err(); err != nil {
					return err
				}
				select {
				case event := <-outer.C():
					if over, err := event.Ended(); err != nil {
						return failedUnder(ctx, err)
					} else if over {
						open = false
						continue
					}
					next := f(event.Value)
					if next == nil {
						return nilStream("FlatMap")
					}
					inner.Start(next)
					if running++; running < concurrency {
						source.Resume()
					} else {
						waits = true
					}
				case event := <-inner.C():
					if over, err := event.Ended(); err != nil {
						return failedUnder(ctx, err)
					} else if over {
						running--
						if waits {
							waits = false
							source.Resume()
						}
						continue
					}
					if !yield(event.Value) {
						return nil
					}
					event.Source.Resume()
				case <-ctx.Done():
				}
			}
			return scope.Err()
		})
	}
}

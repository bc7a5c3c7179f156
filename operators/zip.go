package operators

import (
	"context"
	"fmt"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// Pair is two values that belong together.
type Pair[A, B any] struct {
	First  A
	Second B
}

// String returns the pair as "(first, second)".
func (p Pair[A, B]) String() string { return fmt.Sprintf("(%v, %v)", p.First, p.Second) }

// Zip is ZipWith with a Pair for each two values.
//
//	a:      --1-----2--3--|
//	b:      ----x-y-z----
//	Zip:    ----1x--2y-3z-|
func Zip[A, B any](a stream.Stream[A], b stream.Stream[B]) stream.Stream[Pair[A, B]] {
	notNil("Zip", "a", a == nil)
	notNil("Zip", "b", b == nil)
	return zip(a, b, func(a A, b B) Pair[A, B] { return Pair[A, B]{a, b} })
}

// ZipWith returns the stream of f's answers to the first values of a and b, to the second ones, and so on.
//
//	a:             --1-----2--3--|
//	b:             ----4-5-6----
//	ZipWith(+):    ----5---7--9--|
//
// It ends when no pair can be made any more: as soon as either stream has ended, and the other one is cancelled then.
// A failure of either cancels the other one and is returned at once, whether or not it has a value that waits.
//
// Nothing is buffered: each stream waits with its value for the other's, and both until the consumer is done with the
// pair. a runs on the caller's goroutine, and b on one of its own. A nil a, b or f panics.
func ZipWith[A, B, C any](a stream.Stream[A], b stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	notNil("ZipWith", "a", a == nil)
	notNil("ZipWith", "b", b == nil)
	notNil("ZipWith", "f", f == nil)
	return zip(a, b, f)
}

func zip[A, B, C any](a stream.Stream[A], b stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	return func(ctx context.Context, yield func(C) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		return relay.Run(ctx, func(scope *relay.Scope) error {
			run := interruptible(ctx) // a's, interrupted when b has ended
			defer run.cancel()
			seconds := relay.NewInlet[B](scope)
			seconds.Start(func(ctx context.Context, hand func(B) bool) error {
				defer func() {
					if ctx.Err() == nil {
						run.interrupt()
					}
				}()
				return b(ctx, hand)
			})
			// next returns b's next value, or false and b's end.
			next := func() (relay.Event[B], bool, error) {
				event, err := seconds.Next()
				if err != nil {
					return event, false, err
				}
				over, err := event.Ended()
				return event, !over, ending.Under(ctx, err)
			}
			var end error
			over := false
			err := a(run.ctx, func(first A) bool {
				if over {
					return false
				}
				event, ok, err := next()
				if !ok || !yield(f(first, event.Value)) {
					over, end = true, err
					return false
				}
				event.Source.Resume()
				return true
			})
			switch {
			case over:
				return end
			case run.interrupted():
				_, _, err = next() // b has no value left, or a would have got it
			}
			return err
		})
	}
}

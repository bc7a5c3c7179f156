package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// CombineLatest returns the stream of f's answers to the last values of a and b: one for each value of either, once
// both have had one.
//
//	a:                    --1--------2----3--|
//	b:                    -----x--y----|
//	CombineLatest(a+b):   -----1x-1y-2y---3y-|
//
// It ends when both have ended, or as soon as one has ended without a value, for there is nothing to combine then. A
// failure of either cancels the other one and is returned.
//
// f is called on the caller's goroutine; a and b run on goroutines of their own. No combination is dropped: while the
// consumer has one in hand, the stream whose value it was waits until it is processed, and the other one can hold one
// more value. A nil a, b or f panics.
func CombineLatest[A, B, C any](a stream.Stream[A], b stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	notNil("CombineLatest", "a", a == nil)
	notNil("CombineLatest", "b", b == nil)
	notNil("CombineLatest", "f", f == nil)
	return func(ctx context.Context, yield func(C) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		return relay.Run(ctx, func(scope *relay.Scope) error {
			firsts, seconds := relay.NewInlet[A](scope), relay.NewInlet[B](scope)
			firsts.Start(a)
			seconds.Start(b)
			var (
				first         A
				second        B
				someA, someB  bool
				openA, openB  = true, true
				combineAndSay = func() bool { return !someA || !someB || yield(f(first, second)) }
			)
			for openA && (openB || someB) || openB && someA {
				if err := scope.Err(); err != nil {
					return err
				}
				select {
				case event := <-firsts.C():
					if over, err := event.Ended(); err != nil {
						return ending.Under(ctx, err)
					} else if over {
						openA = false
						continue
					}
					first, someA = event.Value, true
					if !combineAndSay() {
						return nil
					}
					event.Source.Resume()
				case event := <-seconds.C():
					if over, err := event.Ended(); err != nil {
						return ending.Under(ctx, err)
					} else if over {
						openB = false
						continue
					}
					second, someB = event.Value, true
					if !combineAndSay() {
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

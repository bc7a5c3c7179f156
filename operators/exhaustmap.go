package operators

import (
	"context"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// ExhaustMap returns the stream of the values of the streams that f returns for values of s, one at a time: while one of
// these inner streams runs, the values of s are dropped. It is SwitchMap the other way round, and what a button wants that
// must not start the same job twice.
//
//	s:                 --1--2-----3-------|
//	f(1):                -a--b--c|
//	f(3):                         -g--h|
//	ExhaustMap(f):     ---a--b--c--g--h---|
//
// It ends when s and the last inner stream have ended. The first error, of s or of an inner stream, cancels the other and
// is returned. f must not return nil: the stream fails then.
//
// s runs on a goroutine of its own and waits only while f is called; the inner streams and f run on the caller's. An inner
// stream runs until the consumer is done with its last value. Of values of s that come at the same time as the end of an
// inner stream, any may be dropped or not.
func ExhaustMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	notNil("ExhaustMap", "s", s == nil)
	notNil("ExhaustMap", "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		return relay.Run(ctx, func(scope *relay.Scope) error {
			inner := interruptible(ctx) // all inner runs; interrupted when s has failed
			defer inner.cancel()
			var busy atomic.Bool // an inner stream runs

			outer := relay.NewInlet[T](scope)
			outer.Start(func(ctx context.Context, hand func(T) bool) error {
				ended := false
				defer func() {
					if !ended && ctx.Err() == nil {
						inner.interrupt() // for the error or the panic
					}
				}()
				err := s(ctx, func(v T) bool { return busy.Load() && ctx.Err() == nil || hand(v) })
				ended = err == nil
				return err
			})

			stopped := false
			deliver := func(v U) bool {
				if stopped || inner.interrupted() {
					return false
				}
				stopped = !yield(v)
				return !stopped
			}
			for {
				event, err := outer.Next()
				if err != nil {
					return err
				}
				if over, err := event.Ended(); over {
					return ending.Under(ctx, err)
				}
				next := f(event.Value)
				if next == nil {
					return nilStream("ExhaustMap")
				}
				busy.Store(true)
				event.Source.Resume()
				err = next(inner.ctx, deliver)
				busy.Store(false)
				switch {
				case stopped:
					return nil
				case ctx.Err() != nil:
					return ending.Under(ctx, err)
				case err != nil && !inner.interrupted():
					return err
				}
			}
		})
	}
}

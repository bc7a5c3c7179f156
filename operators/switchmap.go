package operators

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// SwitchMap returns the stream of the values of the streams that f returns for the values of s, of the latest one only:
// a new value of s cancels the inner stream that still runs. It has returned before the next one starts, none of its
// values comes after the new value, and an error that it returns then does not count.
//
//	s:               --1-------2-----3---|
//	f(1):              -a-b-c-d-e|
//	f(2):                      -f-----g|
//	f(3):                            -h|
//	SwitchMap(f):    ---a-b-c-d-f-----h--|
//
// It ends when s and the last inner stream have ended. The first error, of s or of the latest inner stream, cancels the
// other and is returned. f must not return nil: the stream fails then.
//
// s runs on a goroutine of its own, the inner streams and f on the caller's. While the consumer has a value in hand, s
// can go on to its next value and waits there. A nil s or f panics.
func SwitchMap[T, U any](s stream.Stream[T], f func(T) stream.Stream[U]) stream.Stream[U] {
	notNil("SwitchMap", "s", s == nil)
	notNil("SwitchMap", "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		return relay.Run(ctx, func(scope *relay.Scope) error {
			// The inner run. It is replaced only while s is held in its yield, so that s can do without a lock.
			inner := interruptible(ctx)
			defer func() { inner.cancel() }()

			outer := relay.NewInlet[T](scope)
			outer.Start(func(ctx context.Context, hand func(T) bool) error {
				ended := false
				defer func() {
					if !ended && ctx.Err() == nil {
						inner.interrupt() // for the error or the panic
					}
				}()
				err := s(ctx, func(v T) bool {
					inner.interrupt()
					return hand(v)
				})
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
					return nilStream("SwitchMap")
				}
				inner.cancel()
				inner = interruptible(ctx)
				event.Source.Resume()
				err = next(inner.ctx, deliver)
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

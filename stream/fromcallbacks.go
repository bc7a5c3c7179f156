package stream

import (
	"context"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// FromCallbacks makes a stream of a client that calls back, as those of MQTT and AMQP and most SDKs do. Each run calls
// listen once, on a goroutine of its own, with the run's context. listen subscribes, passes push to the client as the
// callback, or calls it in one, and must not return while it listens: it waits for the end of its connection or for
// <-ctx.Done(). When it returns, the run ends with its error. If it returns nil, the run ends without an error, which
// MustNotEnd makes a failure. RetryWhen and operators.Resume connect again by calling listen again.
//
//	push:    a--b----c
//	listen:  ----------return err
//	result:  a--b----c-#
//
// push may be called on any goroutine, by several at once. The values come in the order of the calls. push waits until
// the consumer has taken the value, and returns what the consumer's yield returned. So a client that acknowledges what
// it has delivered can do so when push has returned true; with Buffer, Batch or MapRetry after FromCallbacks, true
// means only that the value is held there. When the run is over, because listen has returned, the consumer has stopped
// or ctx has ended, push returns false and waits no more: the value must not be acknowledged. If ctx ends while the
// consumer is busy with a value, the push of that value returns false too, although the consumer may still take the
// value: its memory must not be reused.
//
// A push that waits when listen returns is delivered before the end. When the consumer stops or ctx ends, listen's
// context ends, the pushes that wait return, and the run waits for listen. The error that listen then returns is
// dropped if the consumer has stopped, and joined with ctx's cause if ctx has ended. A panic of listen, or a
// runtime.Goexit, reaches the caller of the stream.
//
// SDKs of exchanges return (doneC, stopC, err). listen gives push to their handler, and waits for <-doneC, to return
// the error that the error handler has kept, or for <-ctx.Done(), to close stopC and wait for doneC.
//
// A consumer that calls push itself waits until ctx ends. While push waits, a client that reads its connection on the
// callback's goroutine reads nothing, keepalives included. To prevent that, put a Buffer after FromCallbacks, and
// acknowledge in the consumer, because what the Buffer holds dies with the process.
func FromCallbacks[T any](listen func(ctx context.Context, push func(T) bool) error) Stream[T] {
	requireFunc(listen == nil, "FromCallbacks: listen")
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		in := handoff.NewReceiver[T](scope)
		defer in.Close() // refuses the pushes that wait, before the scope waits for listen
		var taken atomic.Pointer[handoff.Source[T]]
		refuse := func() { // the push of the value that the consumer has
			if s := taken.Load(); s != nil {
				s.Refuse()
			}
		}
		defer refuse()
		scope.OnEnd(refuse)
		var returned atomic.Bool                  // listen has
		spare := make(chan *handoff.Source[T], 8) // for later pushes
		push := func(v T) bool {
			var s *handoff.Source[T]
			select {
			case s = <-spare:
			default:
				s = in.New()
			}
			more := !returned.Load() && s.Deliver(v)
			select {
			case spare <- s:
			default:
			}
			return more
		}
		in.Start(func(ctx context.Context, _ func(T) bool) error {
			defer returned.Store(true)
			return listen(ctx, push)
		})
		for {
			event, err := in.Next()
			if err != nil {
				return err
			}
			if ended, err := event.Ended(); ended {
				return err // the pushes that waited before came before
			}
			if taken.Store(event.From); scope.Err() != nil {
				continue
			}
			if !out.Deliver(event.Value) {
				return nil
			}
			event.From.Request()
		}
	})
}

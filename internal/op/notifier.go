package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// notifier is a stream that runs on a goroutine of its own while another one runs on the caller's. So the values of the
// other stream are not handed over.
type notifier[S any] struct {
	source   Stream[S]
	receive  func(S) bool // called on the notifier's goroutine; false ends both streams without an error
	endsBoth bool         // the notifier's end is the end of both
}

// withNotifier runs a notifier and calls stream. stream must run a stream on the caller's goroutine, under the
// interruption's context, and deliver nothing after the interruption. A failure of either cancels the other.
func withNotifier[S any](scope *handoff.Scope, n notifier[S], stream func(*interruption) error) error {
	run := interruptible(scope.Context())
	defer run.cancel()
	var end error // the notifier's error, written before the interruption
	scope.Go(func(ctx context.Context) error {
		returned := false
		defer func() {
			if !returned {
				run.interrupt() // so that the stream ends and raises the panic
			}
		}()
		in := ending.NewConsumer(func(v S) bool {
			if !n.receive(v) {
				run.interrupt()
				return false
			}
			return true
		})
		err := n.source(ctx, in.Deliver)
		returned = true
		if !in.Stopped() && ctx.Err() == nil && (err != nil || n.endsBoth) {
			end = err
			run.interrupt()
		}
		return err
	})
	err := stream(run)
	if run.interrupted() {
		return end
	}
	return err
}

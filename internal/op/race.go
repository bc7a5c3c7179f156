package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Race is operators.Race.
func Race[T any, S ~func(context.Context, func(T) bool) error](p Package, s ...S) Stream[T] {
	streams := streamsOf[T](p, "Race", s)
	switch len(streams) {
	case 0:
		return empty[T]
	case 1:
		return streams[0]
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		in := handoff.NewReceiver[T](scope)
		for _, s := range streams {
			in.Start(s)
		}
		for decided := false; ; decided = true {
			event, err := in.Next()
			if err != nil {
				return err
			}
			if over, err := event.Ended(); over {
				return err
			}
			if !decided {
				event.From.CancelOthers()
			}
			if !out.Deliver(event.Value) {
				return nil
			}
			event.From.Request()
		}
	})
}

package op

import (
	"context"
	"slices"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// ZipSlice is operators.ZipSlice.
func ZipSlice[T any, S ~func(context.Context, func(T) bool) error](p Package, s ...S) Stream[[]T] {
	streams := streamsOf[T](p, "ZipSlice", s)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[[]T]) error {
		row := make([]T, len(streams)) // read while all streams wait in their yields
		in := handoff.NewReceiver[struct{}](scope)
		var all []*handoff.Subscription[struct{}]
		for i, s := range streams {
			all = append(all, startInto(in, s, &row[i], struct{}{}))
		}
		for missing := len(all); missing > 0; {
			event, err := in.Next()
			if err != nil {
				return err
			}
			if over, err := event.Ended(); err != nil {
				return err
			} else if over { // all its values are used: with an unused value it would wait in its yield
				return scope.Cancel()
			}
			if missing--; missing > 0 {
				continue
			}
			if !out.Deliver(slices.Clone(row)) {
				return nil
			}
			missing = len(all)
			for _, s := range all {
				s.Request()
			}
		}
		return nil
	})
}

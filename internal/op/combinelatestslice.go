package op

import (
	"context"
	"slices"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// CombineLatestSlice is operators.CombineLatestSlice.
func CombineLatestSlice[T any, S ~func(context.Context, func(T) bool) error](p Package, s ...S) Stream[[]T] {
	return ofMany(p, "CombineLatestSlice", s, func(in *many[T], out *ending.Consumer[[]T]) error {
		last, some := make([]T, len(s)), make([]bool, len(s))
		missing, open := len(s), len(s)
		for {
			i, event, err := in.next()
			if err != nil {
				return err
			}
			if over, err := event.Ended(); over {
				if open--; err != nil || !some[i] || open == 0 {
					return err
				}
				continue
			}
			if last[i] = event.Value; !some[i] {
				some[i] = true
				missing--
			}
			if missing == 0 && !out.Deliver(slices.Clone(last)) {
				return nil
			}
			event.From.Request()
		}
	})
}

package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// ZipSlice is operators.ZipSlice.
func ZipSlice[T any, S ~func(context.Context, func(T) bool) error](p Package, s ...S) Stream[[]T] {
	return ofMany(p, "ZipSlice", s, func(in *many[T], out *ending.Consumer[[]T]) error {
		row, missing := make([]T, len(s)), len(s)
		for {
			i, event, err := in.next()
			if err != nil {
				return err
			}
			if over, err := event.Ended(); over {
				return err // the end of a stream whose values are all used: with an unused value it would wait in its yield
			}
			row[i] = event.Value
			if missing--; missing > 0 {
				continue
			}
			if !out.Deliver(row) {
				return nil
			}
			row, missing = make([]T, len(s)), len(s)
			in.requestAll()
		}
	})
}

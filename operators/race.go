package operators

import (
	"context"
	"fmt"
	"slices"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// Race returns the stream that is the first of several to speak: with a value, its end, or an error. The others are
// cancelled then; they have returned before its first value is delivered. (ReactiveX: amb.)
//
//	a:          -----1--2--|
//	b:          --x----y--z--|
//	c:          -------#
//	Race:       --x----y--z--|
//
// An error wins the race too: to race for the first success, give each stream its own RetryWhen or Catch. When several
// speak at the same moment, any of them may win. A Race of none is empty, a Race of one is that stream; else each runs
// on a goroutine of its own. A nil stream panics.
func Race[T any](s ...stream.Stream[T]) stream.Stream[T] {
	for i := range s {
		notNil("Race", fmt.Sprintf("s[%d]", i), s[i] == nil)
	}
	switch len(s) {
	case 0:
		return stream.Empty[T]()
	case 1:
		return s[0]
	}
	s = slices.Clone(s)
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		return relay.Run(ctx, func(scope *relay.Scope) error {
			in := relay.NewInlet[T](scope)
			for _, runner := range s {
				in.Start(runner)
			}
			decided := false
			for {
				event, err := in.Next()
				if err != nil {
					return err
				}
				if over, err := event.Ended(); over {
					return ending.Under(ctx, err)
				}
				if !decided {
					decided = true
					event.Source.StopOthers(nil)
				}
				if !yield(event.Value) {
					return nil
				}
				event.Source.Resume()
			}
		})
	}
}

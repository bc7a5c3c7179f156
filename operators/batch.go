package operators

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/alarm"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// Batch returns the stream of the values of s in slices: one is delivered when it has as many values as most says, or
// when wait has passed since its first value came, whichever is sooner. What is left is delivered when s ends, and also
// when it fails, before the error, so that nothing is lost; when ctx ends it is dropped. No batch is empty.
//
//	s:              --a-b-c----d---------e-f-|
//	Batch(3, 5):    ------[abc]-----[d]------[ef]|
//
// A wait of 0 is no limit in time: then Batch starts no goroutine. Else s runs on a goroutine of its own, and while the
// consumer has a batch in hand s can go on to its next value and waits there. Time is that of the clock that ctx
// carries, see stream.WithClock. A value that comes exactly when the time is over may be in the batch or not.
//
// Batch buffers up to most values; math.MaxInt is no limit. Each slice is the consumer's own. To end a flow in order,
// its last batch included, use TakeUntil on s rather than a cancel. A nil s, a most below 1 and a negative wait panic.
func Batch[T any](s stream.Stream[T], most int, wait time.Duration) stream.Stream[[]T] {
	notNil("Batch", "s", s == nil)
	requireSize("Batch", most, "wait", wait)
	if wait == 0 {
		return batchBySize(s, most)
	}
	return func(ctx context.Context, yield func([]T) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		limit := alarm.New[stream.Stopper](stream.ClockFrom(ctx))
		defer limit.Stop()
		return relay.Run(ctx, func(scope *relay.Scope) error {
			in := relay.NewBuffered[T](scope, 1)
			in.Start(s)
			b := batch[T]{most: most}
			for {
				event, due, err := nextOrDue(ctx, nil, in, &limit)
				if err != nil {
					return err
				}
				if due {
					limit.Stop()
					if !yield(b.take()) {
						return nil
					}
					continue
				}
				if over, err := event.Ended(); over {
					if err := scope.Err(); err != nil {
						return err
					}
					if len(b.values) > 0 && !yield(b.take()) {
						return nil
					}
					return ending.Under(ctx, err)
				}
				if len(b.values) == 0 && most > 1 {
					limit.Set(wait)
				}
				if b.add(event.Value) {
					limit.Stop()
					if !yield(b.take()) {
						return nil
					}
				}
			}
		})
	}
}

func batchBySize[T any](s stream.Stream[T], most int) stream.Stream[[]T] {
	return func(ctx context.Context, yield func([]T) bool) error {
		b := batch[T]{most: most}
		stopped := false
		err := s(ctx, func(v T) bool {
			if !stopped && b.add(v) {
				stopped = !yield(b.take())
			}
			return !stopped
		})
		switch {
		case stopped:
			return nil
		case len(b.values) == 0:
			return err
		case ctx.Err() != nil:
			return ending.Under(ctx, err)
		case !yield(b.values):
			return nil
		}
		return ending.Under(ctx, err)
	}
}

// batch is the one that fills.
type batch[T any] struct {
	most   int
	values []T
	last   int // how many values the batch before had
}

// add reports whether the batch is full now.
func (b *batch[T]) add(v T) bool {
	if b.values == nil {
		b.values = make([]T, 0, max(b.last, 1))
	}
	b.values = append(b.values, v)
	return len(b.values) >= b.most
}

// take returns the batch and begins a new one.
func (b *batch[T]) take() []T {
	values := b.values
	b.values, b.last = nil, len(values)
	return values
}

// nextOrDue returns the next event of in, or true when the limit has gone off, or an error when ctx ends or cut is closed.
// When both an event and the limit are there it is the limit, for the time of the event is not known.
func nextOrDue[T any](ctx context.Context, cut <-chan struct{}, in *relay.Inlet[T], limit *alarm.Alarm[stream.Stopper]) (event relay.Event[T], due bool, err error) {
	if err := ending.Of(ctx); err != nil {
		return event, false, err
	}
	select {
	case <-limit.C():
		return event, true, nil
	case <-cut:
		return event, false, errWindowRun
	default:
	}
	select {
	case event = <-in.C():
		return event, false, nil
	case <-limit.C():
		return event, true, nil
	case <-cut:
		return event, false, errWindowRun
	case <-ctx.Done():
		return event, false, ending.Of(ctx)
	}
}

// requireSize panics when the limits of a batch or a window cannot be kept.
func requireSize(operator string, most int, name string, d time.Duration) {
	switch {
	case most < 1:
		panicf(operator, "most is %d, want at least 1", most)
	case d < 0:
		panicf(operator, "%s is %v, want at least 0", name, d)
	}
}

package op

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/alarm"
	"github.com/retrywhen/retrywhen/internal/clock"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// Batch is operators.Batch; B is the type of the slices.
func Batch[T any, B ~[]T](p Package, s Stream[T], most int, wait time.Duration) Stream[B] {
	p.notNil("Batch", "s", s == nil)
	p.atLeast1("Batch", "most", most)
	p.notNegative("Batch", "wait", wait)
	if wait == 0 {
		return batchBySize[T, B](s, most)
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[B]) error {
		ctx := scope.Context()
		s1 := sections[T]{
			in: handoff.NewBuffered[T](scope, 1), most: most, span: wait, lazy: true,
			limit: alarm.New[clock.Stopper](clock.From(ctx)),
		}
		defer s1.limit.Stop()
		s1.in.Start(s)
		b := batch[T, B]{most: most}
		for {
			if err := s1.open(ctx); s1.over || err != nil {
				return err
			}
			err := s1.each(ctx, nil, b.add)
			if ctx.Err() != nil || !out.Deliver(b.take()) || s1.over {
				return err
			}
		}
	})
}

func batchBySize[T any, B ~[]T](s Stream[T], most int) Stream[B] {
	return func(ctx context.Context, yield func(B) bool) error {
		b := batch[T, B]{most: most}
		out := ending.NewConsumer(yield)
		err := s(ctx, func(v T) bool { return b.add(v) || out.Deliver(b.take()) })
		if out.Stopped() || len(b.values) == 0 {
			return out.End(ctx, err)
		}
		if ctx.Err() == nil {
			out.Deliver(b.values)
		}
		return out.End(ctx, err)
	}
}

// batch is the one that fills.
type batch[T any, B ~[]T] struct {
	most   int
	values B
	last   int // how many values the batch before had
}

// add reports whether the batch can take more.
func (b *batch[T, B]) add(v T) bool {
	if b.values == nil {
		b.values = make(B, 0, max(b.last, 1))
	}
	b.values = append(b.values, v)
	return len(b.values) < b.most
}

// take returns the batch and begins a new one.
func (b *batch[T, B]) take() B {
	values := b.values
	b.values, b.last = nil, len(values)
	return values
}

package op

import (
	"context"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// Batch is operators.Batch; B is the type of the slices.
func Batch[T any, B ~[]T](p Package, s Stream[T], most int, wait time.Duration) Stream[B] {
	p.NotNil("Batch", "s", s == nil)
	p.atLeast1("Batch", "most", most)
	p.notNegative("Batch", "wait", wait)
	if wait == 0 {
		return batchBySize[T, B](s, most)
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[B]) error {
		limit := timer.New(timer.ClockFrom(scope.Context()))
		defer limit.Stop()
		b := newBatching[T, B](most)
		source := scope.Go(func(ctx context.Context) error {
			return s(ctx, func(v T) bool { return b.add(ctx, v) })
		})
		for {
			over, err := false, error(nil)
			select {
			case <-b.changed:
				if begun, full := b.state(); !full {
					if begun && limit.C() == nil {
						limit.Set(wait)
					}
					continue
				}
			case <-limit.C():
			case <-source.Done():
				over, err = true, source.End()
			case <-scope.Context().Done():
			}
			limit.Stop()
			values := b.take()
			if scope.Err() != nil || len(values) > 0 && !out.Deliver(values) || over {
				return err
			}
			b.open()
		}
	})
}

func batchBySize[T any, B ~[]T](s Stream[T], most int) Stream[B] {
	return func(ctx context.Context, yield func(B) bool) error {
		b := batch[T, B]{most: most}
		out := ending.NewConsumer(yield)
		err := s(ctx, func(v T) bool { return b.add(v) || out.Deliver(b.take()) })
		if !out.Stopped() && len(b.values) > 0 && ctx.Err() == nil {
			out.Deliver(b.values)
		}
		return out.End(ctx, err)
	}
}

// batching is a batch that the source's goroutine fills and the caller's delivers, so single values are not handed
// over.
type batching[T any, B ~[]T] struct {
	changed chan struct{} // one signal: the batch has its first value, or is full
	opened  chan struct{} // one signal, for a waiting source

	mu     sync.Mutex
	batch  batch[T, B]
	closed bool // it is full, or the consumer has not processed the one before
	waits  bool // the source, until it is open
}

func newBatching[T any, B ~[]T](most int) *batching[T, B] {
	return &batching[T, B]{
		batch:   batch[T, B]{most: most},
		changed: make(chan struct{}, 1),
		opened:  make(chan struct{}, 1),
	}
}

// add is the source's yield.
func (b *batching[T, B]) add(ctx context.Context, v T) bool {
	b.mu.Lock()
	if b.waits = b.closed; b.waits {
		b.mu.Unlock()
		select {
		case <-b.opened:
		case <-ctx.Done():
		}
		b.mu.Lock()
	}
	if ctx.Err() != nil {
		b.mu.Unlock()
		return false
	}
	first := b.batch.values == nil
	b.closed = !b.batch.add(v)
	changed := first || b.closed
	b.mu.Unlock()
	if changed {
		select {
		case b.changed <- struct{}{}:
		default:
		}
	}
	return true
}

// state reports whether the batch has a value, and whether it is full.
func (b *batching[T, B]) state() (begun, full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.batch.values != nil, b.closed
}

// take returns the batch. The source waits with its next value until open is called.
func (b *batching[T, B]) take() B {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return b.batch.take()
}

func (b *batching[T, B]) open() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = false
	if b.waits {
		b.waits = false
		b.opened <- struct{}{}
	}
}

// batch is a batch that is being filled.
type batch[T any, B ~[]T] struct {
	most   int
	values B
	before int // number of values in the batch before
}

// add reports whether the batch can take more.
func (b *batch[T, B]) add(v T) bool {
	if b.values == nil {
		b.values = make(B, 0, max(b.before, 1))
	}
	b.values = append(b.values, v)
	return len(b.values) < b.most
}

// take returns the batch and begins a new one.
func (b *batch[T, B]) take() B {
	values := b.values
	b.values, b.before = nil, len(values)
	return values
}

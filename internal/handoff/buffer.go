package handoff

import (
	"context"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Buffer receives the values of one source that runs ahead of the consumer. The source's goroutine fills a ring, the
// consumer's empties it. They wait for each other only if the ring is full or empty.
type Buffer[T any] struct {
	scope  *Scope
	source *Task
	ended  bool // the source has ended, as far as the consumer knows
	slots  []T
	put    side // the source's
	taken  side // the consumer's
}

// side is one side of the ring. The other side can wait until it moves.
type side struct {
	_     [64]byte // the two sides share no cache line
	count atomic.Uint64
	slot  int // the next one
	await atomic.Bool
	moved chan struct{} // one signal, for the side that has set await
	_     [64]byte
}

// move advances to the next slot.
func (s *side) move(size int) {
	if s.slot++; s.slot == size {
		s.slot = 0
	}
	s.count.Add(1)
	if s.await.Load() && s.await.CompareAndSwap(true, false) {
		s.moved <- struct{}{}
	}
}

// waits is called by the other side. It reports whether that side must still wait. If so, moved receives a signal when
// s moves.
func (s *side) waits(still func() bool) bool {
	s.await.Store(true)
	if still() {
		return true
	}
	if !s.await.CompareAndSwap(true, false) {
		<-s.moved
	}
	return false
}

// NewBuffer starts a source that runs ahead of the consumer by up to n values, n ≥ 1. The source's yield returns true
// when there is room for the next value, and false if its context ends first. All values come before the end.
func NewBuffer[T any](scope *Scope, n int, source func(ctx context.Context, yield func(T) bool) error) *Buffer[T] {
	b := &Buffer[T]{scope: scope, slots: make([]T, n)}
	b.put.moved, b.taken.moved = make(chan struct{}, 1), make(chan struct{}, 1)
	b.source = scope.Go(func(ctx context.Context) error {
		return source(ctx, ending.NewConsumer(func(v T) bool { return b.add(ctx, v) }).Deliver)
	})
	return b
}

// Next returns the next value. It returns false and the source's error when the source has ended, and false and the
// cause when the scope's context has ended. If the source panicked, Next panics with a *Panic. If it called
// runtime.Goexit, Next does too.
func (b *Buffer[T]) Next() (v T, ok bool, err error) {
	if err := b.scope.Err(); err != nil {
		return v, false, err
	}
	for b.empty() && b.put.waits(b.empty) {
		if b.ended {
			return v, false, b.source.End()
		}
		select {
		case <-b.put.moved:
		case <-b.source.Done():
			b.ended = true
		case <-b.scope.ctx.Done():
			return v, false, b.scope.Err()
		}
	}
	var none T
	slot := &b.slots[b.taken.slot]
	v, *slot = *slot, none
	b.taken.move(len(b.slots))
	return v, true, nil
}

// add is the source's yield.
func (b *Buffer[T]) add(ctx context.Context, v T) bool {
	b.slots[b.put.slot] = v
	b.put.move(len(b.slots))
	for b.full() && b.taken.waits(b.full) { // a signal may belong to an earlier move
		select {
		case <-b.taken.moved:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (b *Buffer[T]) empty() bool { return b.put.count.Load() == b.taken.count.Load() }

func (b *Buffer[T]) full() bool {
	return b.put.count.Load()-b.taken.count.Load() == uint64(len(b.slots))
}

package operators

import (
	"context"
	"sync"

	"github.com/retrywhen/retrywhen/stream"
)

// latest is the last value of a stream, which one goroutine puts there and another one reads.
type latest[T any] struct {
	mu    sync.Mutex
	value T
	some  bool
}

func (l *latest[T]) put(v T) bool {
	l.mu.Lock()
	l.value, l.some = v, true
	l.mu.Unlock()
	return true
}

func (l *latest[T]) get() (T, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.value, l.some
}

// take is get, and forgets the value.
func (l *latest[T]) take() (v T, some bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var zero T
	v, some = l.value, l.some
	l.value, l.some = zero, false
	return v, some
}

// WithLatestFrom returns the stream of f's answers to each value of s and the last value that other has had. Values of
// s that come before the first of other are dropped.
//
//	s:                         --1-----2--3--------4--|
//	other:                     ----a---------b--c
//	WithLatestFrom(other):     --------2a-3a-------4c-|
//
// It ends when s does, and other is cancelled then; other's end changes nothing. A failure of either cancels the other
// one and is returned. other runs on a goroutine of its own, begun before s, and is never made to wait: of its values
// only the last one is kept. s stays on the caller's goroutine. An other that has a value at once may still be
// overtaken by the first values of s. A nil s, other or f panics.
func WithLatestFrom[A, B, C any](s stream.Stream[A], other stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	notNil("WithLatestFrom", "s", s == nil)
	notNil("WithLatestFrom", "other", other == nil)
	notNil("WithLatestFrom", "f", f == nil)
	return func(ctx context.Context, yield func(C) bool) error {
		var seen latest[B]
		return beside(ctx, s, companion[B]{source: other, take: seen.put}, func(a A) bool {
			b, some := seen.get()
			return !some || yield(f(a, b))
		})
	}
}

// Sample returns the stream that delivers, at each value of the sampler, the last value of s, unless it was delivered
// already. A sampler of stream.Interval(d) samples every d.
//
//	s:                  -1-2----3---------4-|
//	sampler:            ----x------x---x------
//	Sample(sampler):    ----2------3--------|
//
// It ends when s or the sampler does. As in RxJava and RxJS, a value that has not been sampled by then is dropped. A
// failure of either cancels the other one and is returned.
//
// s runs on a goroutine of its own and is never made to wait, however slow the consumer is: that is what Sample is for.
// The sampler runs on the caller's goroutine. A nil s or sampler panics.
func Sample[T, S any](s stream.Stream[T], sampler stream.Stream[S]) stream.Stream[T] {
	notNil("Sample", "s", s == nil)
	notNil("Sample", "sampler", sampler == nil)
	return func(ctx context.Context, yield func(T) bool) error {
		var seen latest[T]
		return beside(ctx, sampler, companion[T]{source: s, take: seen.put, leads: true}, func(S) bool {
			v, some := seen.take()
			return !some || yield(v)
		})
	}
}

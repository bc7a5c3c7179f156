package operators

import (
	"context"
	"sync"

	"github.com/retrywhen/retrywhen/internal/ending"
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

// WithLatestFrom returns the stream of f's results for each value of s and the last value that other has had.
//
//	s:                         --1-----2--3--------4--|
//	other:                     ----a---------b--c
//	WithLatestFrom(other):     ----1a--2a-3a-------4c-|
//
// The two run at the same time. The first value of s is held, and s waits in its yield, until other has had a value or has
// ended. If other ends without a value, the values of s are dropped; else its end changes nothing. WithLatestFrom ends
// when s does, and other is cancelled then. A failure of either cancels the other one and is returned. (In ReactiveX the
// values of s that come before the first of other are dropped.)
//
// other runs on a goroutine of its own and is never made to wait: of its values only the last one is kept. s stays on the
// caller's goroutine. Both may come from one Share or ShareN(2); an other that drops the first value of that Share, as
// shared.Skip(1) does, needs an s of shared.Buffer(n), or the two wait for each other forever.
func WithLatestFrom[A, B, C any](s stream.Stream[A], other stream.Stream[B], f func(A, B) C) stream.Stream[C] {
	notNil("WithLatestFrom", "s", s == nil)
	notNil("WithLatestFrom", "other", other == nil)
	notNil("WithLatestFrom", "f", f == nil)
	return func(ctx context.Context, yield func(C) bool) error {
		var seen latest[B]
		ctx, release := jointSubscription(ctx)
		defer release()
		known := make(chan struct{}) // closed when other has had a value or has ended well
		know := sync.OnceFunc(func() { close(known); release() })
		heard := func(ctx context.Context, yield func(B) bool) error {
			err := other(ctx, func(b B) bool {
				more := yield(b)
				know()
				return more
			})
			if err == nil {
				know()
			}
			return err
		}
		held := func(ctx context.Context, yield func(A) bool) error {
			first, cancelled := true, false
			err := s(ctx, func(a A) bool {
				if first {
					first = false
					select {
					case <-known:
					case <-ctx.Done():
						cancelled = true
					}
				}
				return !cancelled && yield(a)
			})
			if cancelled {
				return ending.Under(ctx, err)
			}
			return err
		}
		return beside(ctx, held, companion[B]{source: heard, take: seen.put}, func(a A) bool {
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

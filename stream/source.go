package stream

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// Of yields the given values. The slice that holds them is not copied.
//
//	Of(a, b, c): --> abc|
//
// Like every source here, it checks ctx before each value and before the end. Under a context that has ended it yields
// nothing and returns the cause.
func Of[T any](v ...T) Stream[T] { return FromSlice(v) }

// FromSlice yields the slice's values. The slice is not copied: each run yields the values it holds then.
//
//	FromSlice({a, b, c}): --> abc|
func FromSlice[T any](v []T) Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		look := newLookout(ctx)
		switch {
		case look.never():
			for _, item := range v {
				if !yield(item) {
					return nil
				}
			}
			return nil
		case look.parent == nil:
			for _, item := range v {
				if atomic.LoadUint32(look.over) != 0 {
					break
				}
				if !yield(item) {
					return nil
				}
			}
		default:
			for _, item := range v {
				if atomic.LoadUint32(look.over) != 0 { // joined by ||, they cost a tenth more
					break
				}
				if look.parent.Err() != nil {
					break
				}
				if !yield(item) {
					return nil
				}
			}
		}
		return ending.ContextError(ctx)
	}
}

// FromSeq yields the sequence's values. Each run ranges over seq anew. A sequence that waits for its next value cannot
// be cancelled: use FromSeq2 for a sequence that takes a context.
//
//	FromSeq(a, b, c): --> abc|
func FromSeq[T any](seq iter.Seq[T]) Stream[T] {
	requireFunc(seq == nil, "FromSeq: seq")
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		look := newLookout(ctx)
		stopped := false
		seq(func(v T) bool {
			if stopped || look.ended() {
				return false
			}
			stopped = !yield(v)
			return !stopped
		})
		if stopped {
			return nil
		}
		return ending.ContextError(ctx)
	}
}

// FromSeq2 yields the values of the sequence that open returns. Each run calls open with the run's context. The first
// pair with an error ends the stream with that error; its value is dropped. When the consumer stops, so does the
// sequence. [Stream.All] returns sequences of this form.
//
//	FromSeq2((a, nil), (b, nil), (_, err)): --> ab#
//
// If open returns nil, the stream fails.
func FromSeq2[T any](open func(context.Context) iter.Seq2[T, error]) Stream[T] {
	requireFunc(open == nil, "FromSeq2: open")
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		seq := open(ctx)
		if seq == nil {
			return errors.New("stream: FromSeq2: open returned a nil sequence")
		}
		look := newLookout(ctx)
		stopped := false
		var failure error
		seq(func(v T, err error) bool {
			switch {
			case stopped || failure != nil:
			case err != nil:
				failure = err
			case !look.ended():
				stopped = !yield(v)
				return !stopped
			}
			return false
		})
		if stopped {
			return nil
		}
		return ending.Error(ctx, failure)
	}
}

// FromFunc yields the value that f returns, or fails with its error. Each run calls f once, with the run's context. A
// value that comes after the context has ended is dropped.
//
//	FromFunc(v, nil): --> v|
//	FromFunc(_, err): --> #
func FromFunc[T any](f func(context.Context) (T, error)) Stream[T] {
	requireFunc(f == nil, "FromFunc: f")
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		v, err := f(ctx)
		if err = ending.Error(ctx, err); err != nil {
			return err
		}
		if !yield(v) {
			return nil
		}
		return ending.ContextError(ctx)
	}
}

// FromChan yields what it receives from the channel until the channel is closed. It can be run only once, because
// nobody can receive the same values again. A second run, also a concurrent one, fails with [ErrNotRestartable], which
// RetryWhen does not retry. A run under a context that has already ended does not count.
//
//	ch:           --a--b--c--(closed)
//	FromChan(ch): --a--b--c--|
//
// When the consumer stops, or ctx ends, the remaining values stay in the channel.
func FromChan[T any](ch <-chan T) Stream[T] {
	requireFunc(ch == nil, "FromChan: ch")
	var used atomic.Bool
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		if used.Swap(true) {
			return ErrNotRestartable
		}
		return yieldUntilEnd(ctx, ch, nil, yield)
	}
}

// Defer calls f for each run, and runs the stream that f returns. So nothing of the source is made before it is
// subscribed to. If f returns nil, the stream fails.
//
//	f:        () --> ab|, then () --> c|
//	Defer(f): ab|, then c|
func Defer[T any](f func(context.Context) Stream[T]) Stream[T] {
	requireFunc(f == nil, "Defer: f")
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		s := f(ctx)
		if s == nil {
			return errors.New("stream: Defer: f returned a nil stream")
		}
		return s(ctx, yield)
	}
}

// Empty ends at once, without a value.
//
//	Empty(): --> |
func Empty[T any]() Stream[T] {
	return func(ctx context.Context, _ func(T) bool) error { return ending.ContextError(ctx) }
}

// Never yields nothing and runs until its context ends.
//
//	Never(): --> ------
func Never[T any]() Stream[T] {
	return func(ctx context.Context, _ func(T) bool) error {
		<-ctx.Done()
		return ending.ContextError(ctx)
	}
}

// Fail fails at once with err, which must not be nil. Under a context that has ended it returns the context's cause
// instead.
//
//	Fail(err): --> #
func Fail[T any](err error) Stream[T] {
	requireFunc(err == nil, "Fail: err")
	return func(ctx context.Context, _ func(T) bool) error {
		if cause := ending.ContextError(ctx); cause != nil {
			return cause
		}
		return err
	}
}

// Range yields count consecutive integers, from first on. A range that goes past the largest int panics.
//
//	Range(5, 3): --> 567|
func Range(first, count int) Stream[int] {
	do(func() {
		requireMin("Range: count", count, 0)
		if count > 0 && first > math.MaxInt-(count-1) {
			panic(fmt.Sprintf("stream: Range: first is %d and count is %d, which leads past the largest int", first, count))
		}
	})
	return func(ctx context.Context, yield func(int) bool) error {
		look := newLookout(ctx)
		switch {
		case look.never():
			for i := range count {
				if !yield(first + i) {
					return nil
				}
			}
			return nil
		case look.parent == nil:
			for i := range count {
				if atomic.LoadUint32(look.over) != 0 {
					break
				}
				if !yield(first + i) {
					return nil
				}
			}
		default:
			for i := range count {
				if atomic.LoadUint32(look.over) != 0 {
					break
				}
				if look.parent.Err() != nil {
					break
				}
				if !yield(first + i) {
					return nil
				}
			}
		}
		return ending.ContextError(ctx)
	}
}

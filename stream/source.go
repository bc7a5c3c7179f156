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

// Of returns the stream of the given values. The slice that holds them is not copied.
//
//	Of(a, b, c): --> abc|
//
// Like every source here it looks at ctx before each value and before the end; under a context that has ended it
// yields nothing and returns the cause.
func Of[T any](v ...T) Stream[T] { return FromSlice(v) }

// FromSlice returns the stream of the slice's values. The slice is not copied: each run yields what it holds by then.
//
//	FromSlice({a, b, c}): --> abc|
func FromSlice[T any](v []T) Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		look := watch(ctx)
		if look.never() {
			for _, item := range v {
				if !yield(item) {
					return nil
				}
			}
			return nil
		}
		for _, item := range v {
			if look.ended() {
				return ending.ContextError(ctx)
			}
			if !yield(item) {
				return nil
			}
		}
		return ending.ContextError(ctx)
	}
}

// FromSeq returns the stream of the sequence's values; each run ranges over seq anew. A sequence that waits for its
// next value cannot be cancelled meanwhile: use FromSeq2 for one that knows a context.
//
//	FromSeq(a, b, c): --> abc|
func FromSeq[T any](seq iter.Seq[T]) Stream[T] {
	requireFunc(seq == nil, "FromSeq: seq")
	return func(ctx context.Context, yield func(T) bool) error {
		if err := ending.ContextError(ctx); err != nil {
			return err
		}
		look := watch(ctx)
		stopped, cut := false, false
		seq(func(v T) bool {
			switch {
			case stopped || cut:
			case look.ended():
				cut = true
			default:
				stopped = !yield(v)
				return !stopped
			}
			return false
		})
		if stopped {
			return nil
		}
		return ending.ContextError(ctx)
	}
}

// FromSeq2 returns the stream of the sequence that open returns. Each run calls open with the run's context. The first
// pair with an error ends the stream with that error, and its value is dropped; when the consumer stops, so does the
// sequence. The sequences that [Stream.All] and others of the same convention return are such.
//
//	FromSeq2((a, nil), (b, nil), (_, err)): --> ab#
//
// open must not return nil: the stream fails then.
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
		look := watch(ctx)
		stopped, cut := false, false
		var failed error
		seq(func(v T, err error) bool {
			switch {
			case stopped || cut:
			case err != nil:
				cut, failed = true, err
			case look.ended():
				cut = true
			default:
				stopped = !yield(v)
				return !stopped
			}
			return false
		})
		if stopped {
			return nil
		}
		return ending.Error(ctx, failed)
	}
}

// FromFunc returns the stream of the one value that f returns, or of its error. Each run calls f once, with the run's
// context; a value that comes when the context has ended is dropped.
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

// FromChan returns the stream of what comes out of the channel until it is closed. It can be run once, since nobody
// can receive the same values again: a second run, also one side by side with the first, fails with
// [ErrNotRestartable], and no operator retries it. A run under a context that has ended does not count.
//
//	ch:           --a--b--c--(closed)
//	FromChan(ch): --a--b--c--|
//
// When the consumer stops, or ctx ends, what is left stays in the channel.
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
		done := ctx.Done()
		for {
			if closed(done) {
				return ending.ContextError(ctx)
			}
			select {
			case v, ok := <-ch:
				if !ok {
					return ending.ContextError(ctx)
				}
				if !yield(v) {
					return nil
				}
			case <-done:
			}
		}
	}
}

// Defer returns the stream that runs, for each run, what f returns for it: nothing of the source is made before it is
// subscribed to. f must not return nil: the stream fails then.
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

// Empty returns the stream that ends at once, with no value.
//
//	Empty(): --> |
func Empty[T any]() Stream[T] {
	return func(ctx context.Context, _ func(T) bool) error { return ending.ContextError(ctx) }
}

// Never returns the stream that yields nothing and lasts until its context ends.
//
//	Never(): --> ------
func Never[T any]() Stream[T] {
	return func(ctx context.Context, _ func(T) bool) error {
		<-ctx.Done()
		return ending.ContextError(ctx)
	}
}

// Fail returns the stream that fails at once with err, which must not be nil; under a context that has ended it
// returns that cause instead.
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

// Range returns the stream of count integers in a row, from first on. A negative count panics, and so does one that
// leads past the largest int.
//
//	Range(5, 3): --> 567|
func Range(first, count int) Stream[int] {
	requireMin("Range: count", count, 0)
	if count > 0 && first > math.MaxInt-(count-1) {
		panic(fmt.Sprintf("stream: Range: first is %d and count is %d, which leads past the largest int", first, count))
	}
	return func(ctx context.Context, yield func(int) bool) error {
		look := watch(ctx)
		if look.never() {
			for i := range count {
				if !yield(first + i) {
					return nil
				}
			}
			return nil
		}
		for i := range count {
			if look.ended() {
				return ending.ContextError(ctx)
			}
			if !yield(first + i) {
				return nil
			}
		}
		return ending.ContextError(ctx)
	}
}

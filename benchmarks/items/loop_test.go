package items

import (
	"context"
	"iter"
)

// loop only calls the same functions as the others.
func loop(_ context.Context, n int) (int, error) {
	sum := 0
	for v := range n {
		if v := triple(v); even(v) {
			sum = plus(sum, v)
		}
	}
	return sum, nil
}

// inlined lets the compiler see and inline all of the work.
func inlined(_ context.Context, n int) (int, error) {
	sum := 0
	for v := range n {
		if v := 3 * v; v%2 == 0 {
			sum += v
		}
	}
	return sum, nil
}

// loopRetried is the loop inside another loop, which starts over when the items fail.
func loopRetried(ctx context.Context, n int) (int, error) {
	for retries := 0; ; retries++ {
		sum := 0
		err := func() error {
			for v := range n {
				if v := triple(v); even(v) {
					sum = plus(sum, v)
				}
			}
			return nil
		}()
		if err == nil || retries == 3 {
			return sum, err
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
	}
}

// sequence is the same with iter.Seq, which has no error and no context.
func sequence(_ context.Context, n int) (int, error) {
	sum := 0
	for v := range filterSeq(mapSeq(rangeSeq(n), triple), even) {
		sum = plus(sum, v)
	}
	return sum, nil
}

func rangeSeq(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for v := range n {
			if !yield(v) {
				return
			}
		}
	}
}

func mapSeq[T, U any](seq iter.Seq[T], f func(T) U) iter.Seq[U] {
	return func(yield func(U) bool) {
		for v := range seq {
			if !yield(f(v)) {
				return
			}
		}
	}
}

func filterSeq[T any](seq iter.Seq[T], keep func(T) bool) iter.Seq[T] {
	return func(yield func(T) bool) {
		for v := range seq {
			if keep(v) && !yield(v) {
				return
			}
		}
	}
}

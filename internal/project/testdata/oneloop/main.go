// Command oneloop is compiled by a test, which reads from the compiler's output that each chain is one loop: the last
// literal of a function is inlined into that function.
package main

import (
	"context"
	"errors"
	"iter"
	"slices"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

var errEnd = errors.New("the end")

func double(v int) int    { return 2 * v }
func even(v int) bool     { return v%2 == 0 }
func plus(sum, v int) int { return sum + v }

func main() {}

// Sources.

func Of(ctx context.Context) (sum int) {
	_ = stream.Of(1, 2, 3).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func FromSlice(ctx context.Context, in []int) (sum int) {
	_ = stream.FromSlice(in).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Range(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func FromSeq(ctx context.Context, in []int) (sum int) {
	_ = stream.FromSeq(slices.Values(in)).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func FromSeq2(ctx context.Context) (sum int) {
	_ = stream.FromSeq2(func(context.Context) iter.Seq2[int, error] {
		return func(yield func(int, error) bool) { yield(1, nil) }
	}).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func FromFunc(ctx context.Context) (sum int) {
	_ = stream.FromFunc(func(context.Context) (int, error) { return 1, nil }).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Defer(ctx context.Context) (sum int) {
	_ = stream.Defer(func(context.Context) stream.Stream[int] { return stream.Range(0, 9) }).
		ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Empty(ctx context.Context) (sum int) {
	_ = stream.Empty[int]().DefaultIfEmpty(1).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Fail(ctx context.Context) (sum int) {
	_ = stream.Fail[int](errEnd).Catch(func(error) stream.Stream[int] { return stream.Range(0, 9) }).
		ForEach(ctx, func(v int) { sum += v })
	return sum
}

// Operators, in the order of the alphabet.

func Catch(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Catch(func(error) stream.Stream[int] { return stream.Of(1) }).
		ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Concat(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Concat(stream.Of(1)).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Count(ctx context.Context) (sum int) {
	_ = operators.Count(stream.Range(0, 9)).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func DefaultIfEmpty(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).DefaultIfEmpty(1).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Distinct(ctx context.Context) (sum int) {
	_ = operators.Distinct(stream.Range(0, 9)).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func DistinctBy(ctx context.Context) (sum int) {
	_ = operators.DistinctBy(stream.Range(0, 9), even).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func DistinctUntilChanged(ctx context.Context) (sum int) {
	_ = operators.DistinctUntilChanged(stream.Range(0, 9)).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func DistinctUntilChangedBy(ctx context.Context) (sum int) {
	_ = operators.DistinctUntilChangedBy(stream.Range(0, 9), even).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Filter(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Filter(even).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func First(ctx context.Context) (sum int) {
	_ = operators.First(stream.Range(0, 9)).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func IgnoreElements(ctx context.Context) (sum int) {
	_, _ = stream.Range(0, 9).Tap(func(v int) { sum += v }).IgnoreElements().Collect(ctx)
	return sum
}

func Last(ctx context.Context) (sum int) {
	_ = operators.Last(stream.Range(0, 9)).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Map(ctx context.Context) (sum int) {
	_ = operators.Map(stream.Range(0, 9), double).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MapErr(ctx context.Context) (sum int) {
	_ = operators.MapErr(stream.Range(0, 9), func(error) error { return errEnd }).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MustNotEnd(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).MustNotEnd(errEnd).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Pairwise(ctx context.Context) (sum int) {
	_ = operators.Pairwise(stream.Range(0, 9)).ForEach(ctx, func(p operators.Pair[int, int]) { sum += p.Second })
	return sum
}

func Reduce(ctx context.Context) (sum int) {
	_ = operators.Reduce(stream.Range(0, 9), 0, plus).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Repeat(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Repeat(2).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Scan(ctx context.Context) (sum int) {
	_ = operators.Scan(stream.Range(0, 9), 0, plus).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Skip(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Skip(1).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func SkipLast(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).SkipLast(1).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func SkipWhile(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).SkipWhile(even).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func StartWith(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).StartWith(1).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func SwitchIfEmpty(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).SwitchIfEmpty(stream.Of(1)).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Take(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Take(1).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func TakeLast(ctx context.Context) (sum int) {
	_ = stream.Of(1, 2, 3).TakeLast(1).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func TakeWhile(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).TakeWhile(even).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func Tap(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Tap(func(v int) { sum -= v }).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func TryFilter(ctx context.Context) (sum int) {
	_ = operators.TryFilter(stream.Range(0, 9), func(_ context.Context, v int) (bool, error) { return v > 1, nil }).
		ForEach(ctx, func(v int) { sum += v })
	return sum
}

func TryMap(ctx context.Context) (sum int) {
	_ = operators.TryMap(stream.Range(0, 9), func(_ context.Context, v int) (int, error) { return v + 1, nil }).
		ForEach(ctx, func(v int) { sum += v })
	return sum
}

// Sinks.

func All(ctx context.Context) (sum int) {
	for v, err := range stream.Range(0, 9).All(ctx) {
		if err != nil {
			return 0
		}
		sum += v
	}
	return sum
}

func Collect(ctx context.Context) (sum int) {
	_, _ = stream.Range(0, 9).Tap(func(v int) { sum += v }).Collect(ctx)
	return sum
}

func ForEach(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func One(ctx context.Context) (sum int) {
	_, _ = stream.Range(0, 9).Tap(func(v int) { sum += v }).One(ctx)
	return sum
}

func TryForEach(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).TryForEach(ctx, func(_ context.Context, v int) error { sum += v; return nil })
	return sum
}

// Chains.

func Long(ctx context.Context) (sum int) {
	s := operators.Map(stream.Range(0, 9), double).Filter(even)
	s = operators.TryMap(s, func(_ context.Context, v int) (int, error) { return v + 1, nil })
	_ = operators.Reduce(operators.Scan(s.Take(9).Skip(1), 0, plus), 0, plus).ForEach(ctx, func(v int) { sum += v })
	return sum
}

// Twice is no loop: the compiler does not inline an operator into itself.
func Twice(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Filter(even).Filter(func(v int) bool { return v > 2 }).ForEach(ctx, func(v int) { sum += v })
	return sum
}

// Border is no loop: the compiler inlines nothing across an operator that is not inlined itself.
func Border(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Filter(even).Retry(1).ForEach(ctx, func(v int) { sum += v })
	return sum
}

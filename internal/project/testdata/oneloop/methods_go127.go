//go:build go1.27

package main

import (
	"context"

	"github.com/retrywhen/retrywhen/stream"
)

// The methods that Go 1.26 does not have. Each name is that of the function, with M before it.

func MCount(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Count().ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MDistinctBy(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).DistinctBy(even).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MDistinctUntilChangedBy(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).DistinctUntilChangedBy(even).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MFirst(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).First().ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MLast(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Last().ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MMap(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Map(double).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MMapErr(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).MapErr(func(error) error { return errEnd }).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MReduce(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Reduce(0, plus).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MScan(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Scan(0, plus).ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MTryFilter(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).TryFilter(func(_ context.Context, v int) (bool, error) { return v > 1, nil }).
		ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MTryMap(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).TryMap(func(_ context.Context, v int) (int, error) { return v + 1, nil }).
		ForEach(ctx, func(v int) { sum += v })
	return sum
}

func MLong(ctx context.Context) (sum int) {
	_ = stream.Range(0, 9).Map(double).Filter(even).TryMap(func(_ context.Context, v int) (int, error) { return v + 1, nil }).
		Take(9).Skip(1).Scan(0, plus).Reduce(0, plus).ForEach(ctx, func(v int) { sum += v })
	return sum
}

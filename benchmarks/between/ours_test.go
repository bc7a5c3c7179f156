package between

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

func ours(ctx context.Context, s stream.Stream[int]) (sum int, err error) {
	err = s.ForEach(ctx, func(v int) { sum += v })
	return sum, err
}

func buffer(ctx context.Context, n int) (int, error) {
	return ours(ctx, stream.Range(0, n).Buffer(128))
}

func timeout(ctx context.Context, n int) (int, error) {
	return ours(ctx, stream.Range(0, n).Timeout(time.Hour))
}

func merge(ctx context.Context, n int) (int, error) {
	return ours(ctx, stream.Range(0, n/2).Merge(stream.Range(n/2, n-n/2)))
}

func zip(ctx context.Context, n int) (int, error) {
	return ours(ctx, operators.ZipWith(stream.Range(0, n), stream.Range(0, n), first))
}

// share has two consumers.
func share(ctx context.Context, n int) (int, error) {
	s := operators.ShareN(stream.Range(0, n), 2)
	var sum adder
	other := make(chan error)
	go func() { other <- s.ForEach(ctx, sum.add) }()
	err := s.ForEach(ctx, sum.add)
	if e := <-other; err == nil {
		err = e
	}
	return sum.total(), err
}

func batch(ctx context.Context, n int) (sum int, err error) {
	err = operators.Batch(stream.Range(0, n), 100, time.Hour).ForEach(ctx, func(batch []int) {
		for _, v := range batch {
			sum += v
		}
	})
	return sum, err
}

func flatMap(ctx context.Context, n int) (int, error) {
	return ours(ctx, operators.FlatMap(stream.Range(0, n), 4, func(v int) stream.Stream[int] { return stream.Of(v) }))
}

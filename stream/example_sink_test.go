package stream_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/retrywhen/retrywhen/stream"
)

func ExampleStream_All() {
	s := stream.Of(1, 2).Concat(stream.Fail[int](errors.New("lost")))
	for v, err := range s.All(context.Background()) {
		if err != nil {
			fmt.Println("failed:", err)
			break
		}
		fmt.Println(v)
	}
	// Output:
	// 1
	// 2
	// failed: lost
}

func ExampleStream_Collect() {
	all, err := stream.Range(1, 5).Filter(func(v int) bool { return v%2 == 1 }).Collect(context.Background())
	fmt.Println(all, err)
	// Output: [1 3 5] <nil>
}

func ExampleStream_One() {
	ctx := context.Background()
	ready := stream.Of("starting", "starting", "ready", "busy").Filter(func(state string) bool { return state == "ready" })
	fmt.Println(ready.One(ctx))

	_, err := stream.Of("starting", "broken").Filter(func(state string) bool { return state == "ready" }).One(ctx)
	fmt.Println(err, errors.Is(err, stream.ErrEmpty))
	// Output:
	// ready <nil>
	// stream: the stream ended without a value true
}

func ExampleStream_ForEach() {
	sum := 0
	err := stream.Range(1, 100).ForEach(context.Background(), func(v int) { sum += v })
	fmt.Println(sum, err)
	// Output: 5050 <nil>
}

func ExampleStream_Chans() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	values, errs := stream.Of(1, 2).Concat(stream.Fail[int](errors.New("lost"))).Chans(ctx, 0)
	for v := range values {
		fmt.Println(v)
	}
	fmt.Println(<-errs)
	// Output:
	// 1
	// 2
	// lost
}

func ExampleStream_TryForEach() {
	full := errors.New("disk full")
	err := stream.Of("a", "b", "c").Retry(3).TryForEach(context.Background(), func(_ context.Context, v string) error {
		if v == "b" {
			return full // stops the source, which has not failed: no retry
		}
		fmt.Println("stored", v)
		return nil
	})
	fmt.Println(err)
	// Output:
	// stored a
	// disk full
}

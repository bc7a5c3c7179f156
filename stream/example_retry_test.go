package stream_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// flakyReader is a source that fails twice and then ends without an error.
func flakyReader() stream.Stream[string] {
	attempt := 0
	return stream.Defer(func(context.Context) stream.Stream[string] {
		if attempt++; attempt < 3 {
			return stream.Of("a").Concat(stream.Fail[string](fmt.Errorf("attempt %d: connection reset", attempt)))
		}
		return stream.Of("a", "b", "c")
	})
}

func ExampleStream_Retry() {
	fmt.Println(flakyReader().Retry(2).Collect(context.Background()))
	fmt.Println(flakyReader().Retry(1).Collect(context.Background()))
	// Output:
	// [a a a b c] <nil>
	// [a a] attempt 2: connection reset
}

func ExampleStream_RetryWhen() {
	// A handler is a function from failures to answers. A retry.Policy is one too.
	linear := stream.RetryHandlerFunc(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return failures.Take(3).Tap(func(f stream.Failure) { fmt.Println(f.N, f.Err) }).Delay(time.Millisecond)
	})
	fmt.Println(flakyReader().RetryWhen(linear).Collect(context.Background()))
	// Output:
	// 1 attempt 1: connection reset
	// 2 attempt 2: connection reset
	// [a a a b c] <nil>
}

func ExamplePermanent() {
	source := stream.Fail[int](stream.Permanent(errors.New("no such user")))
	_, err := source.Retry(1000).Collect(context.Background())
	fmt.Println(err)
	// Output: no such user
}

// A source may behave differently when it is run again.
func ExampleAttemptFrom() {
	servers := []string{"first", "second", "third"}
	connect := stream.Defer(func(ctx context.Context) stream.Stream[string] {
		server := servers[stream.AttemptFrom(ctx)-1]
		if server != "third" {
			return stream.Fail[string](fmt.Errorf("%s is away", server))
		}
		return stream.Of("connected to the " + server)
	})
	var h stream.RetryHandler = stream.RetryHandlerFunc(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return failures.Tap(func(f stream.Failure) { fmt.Println(f.Err) })
	})
	fmt.Println(connect.RetryWhen(h).Collect(context.Background()))
	// Output:
	// first is away
	// second is away
	// [connected to the third] <nil>
}

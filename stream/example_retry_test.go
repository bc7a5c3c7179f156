package stream_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
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

// A feed whose server sends heartbeats. The Timeout sees them, the consumer does not; a heartbeat after a failure ends
// the outage.
func ExampleStream_DropHeartbeats() {
	feed := stream.Of("price 1", "heartbeat", "price 2").Timeout(time.Minute).
		DropHeartbeats(func(line string) bool { return line == "heartbeat" })
	show(feed)
	// Output: price 1 price 2 → <nil>
}

// A source that knows that it is connected and subscribed says so. Otherwise, a feed with an event every six hours
// would be an outage of six hours after each failure.
func ExampleWorks() {
	policy := retry.New(backoff.Constant(time.Millisecond), retry.OnRecovered(func(_ context.Context, r retry.Recovery) {
		fmt.Println("recovered from:", r.Last)
	}))
	connections := 0
	feed := stream.Stream[string](func(ctx context.Context, yield func(string) bool) error {
		if connections++; connections == 1 {
			return errors.New("connection refused")
		}
		stream.Works(ctx) // the server has confirmed the subscription
		fmt.Println("waits for the next event")
		yield("event")
		return nil
	})
	show(feed.RetryWhen(policy))
	// Output:
	// recovered from: connection refused
	// waits for the next event
	// event → <nil>
}

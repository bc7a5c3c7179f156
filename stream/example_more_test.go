package stream_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Code that takes a Clock works with any clock.
func ExampleClock() {
	mock := clock.NewMock()
	var c stream.Clock = stream.ClockFrom(stream.WithClock(context.Background(), mock))
	var timer stream.Stopper = c.AfterFunc(time.Minute, func() { fmt.Println("too late") })
	mock.Add(59 * time.Second)
	timer.Stop()
	mock.Add(time.Hour)
	fmt.Println(c.Now().UTC().Format(time.TimeOnly))
	// Output: 01:00:59
}

// A source of one's own ends with the context's error, and keeps its own.
func ExampleContextError() {
	source := stream.Stream[string](func(ctx context.Context, yield func(string) bool) error {
		for ctx.Err() == nil {
			if !yield("line") {
				return nil
			}
		}
		return stream.ContextError(ctx, errors.New("half a line was read"))
	})

	ctx, cancel := context.WithCancelCause(context.Background())
	reason := errors.New("shutting down")
	err := source.ForEach(ctx, func(string) { cancel(reason) })
	fmt.Println(err)
	fmt.Println(errors.Is(err, reason), errors.Is(err, context.Canceled))

	// Output:
	// shutting down: after the failure: half a line was read
	// true true
}

// leap is a clock for one goroutine that never waits: AfterFunc sets the time to the time at which f is due.
type leap struct{ now time.Time }

func (c *leap) Now() time.Time { return c.now }

func (c *leap) AfterFunc(d time.Duration, f func()) *time.Timer {
	c.now = c.now.Add(d)
	return time.AfterFunc(0, f)
}

func ExampleWithClock() {
	clock := &leap{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	ctx := stream.WithClock(context.Background(), clock)
	err := stream.Interval(12*time.Hour).Take(3).ForEach(ctx, func(now time.Time) {
		fmt.Println(now.Format(time.DateTime))
	})
	fmt.Println(err)
	// Output:
	// 2026-01-01 12:00:00
	// 2026-01-02 00:00:00
	// 2026-01-02 12:00:00
	// <nil>
}

func ExampleClockFrom() {
	// A source that adds to its values the time of the clock it runs on.
	stamped := stream.Defer(func(ctx context.Context) stream.Stream[string] {
		return stream.Of(stream.ClockFrom(ctx).Now().Format(time.DateOnly))
	})
	ctx := stream.WithClock(context.Background(), &leap{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)})
	fmt.Println(stamped.Collect(ctx))
	// Output: [2026-01-01] <nil>
}

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

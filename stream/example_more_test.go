package stream_test

import (
	"context"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/stream"
)

// counted wraps a handler and counts its failures and answers.
type counted struct {
	stream.RetryHandler
	failures, successes int
}

func (c *counted) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	return c.RetryHandler.Handle(failures.Tap(func(stream.Failure) { c.failures++ }))
}

// The three methods make a RetryObserver of it.
func (c *counted) Recovered(_ context.Context, last stream.Failure, retries int, _ time.Duration) {
	fmt.Println("retry", retries, "works after", last.Err)
}

func (c *counted) Succeeded(items int64) { c.successes++ }

func (c *counted) Ended(_ context.Context, attempts int, err error) {
	fmt.Println(attempts, "attempts,", err)
}

// A handler can wrap another one. A retry.Policy is a RetryObserver too.
func ExampleRetryObserver() {
	atOnce := stream.RetryHandlerFunc(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return failures.Take(5)
	})
	handler := &counted{RetryHandler: atOnce}
	fmt.Println(flakyReader().RetryWhen(handler).Collect(context.Background()))
	fmt.Println(handler.failures, "failures,", handler.successes, "success")
	// Output:
	// retry 1 works after attempt 1: connection reset
	// retry 1 works after attempt 2: connection reset
	// 3 attempts, <nil>
	// [a a a b c] <nil>
	// 2 failures, 1 success
}

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

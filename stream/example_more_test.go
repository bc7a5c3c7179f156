package stream_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/stream"
)

// counted wraps a handler and counts its failures and answers.
type counted struct {
	stream.RetryHandler
	failures int
	last     stream.Failure
}

func (c *counted) Handle(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
	return c.RetryHandler.Handle(failures.Tap(func(stream.Failure) { c.failures++ }))
}

// Observe makes a RetryObserver of it. One value observes all subscriptions here, because there is only one.
func (c *counted) Observe(s stream.RetrySubscription) (context.Context, stream.RetryObservation) {
	return s.Context, c
}

func (c *counted) Failed(f stream.Failure) { c.last = f }

func (c *counted) Works() { fmt.Println("works after", c.last.Err) }

func (c *counted) Ended(end stream.RetryEnd) { fmt.Println(end.Attempts, "attempts,", end.Err) }

// A handler can wrap another one. A retry.Policy is a RetryObserver too.
func ExampleRetryObserver() {
	atOnce := stream.RetryHandlerFunc(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		return failures.Take(5)
	})
	handler := &counted{RetryHandler: atOnce}
	fmt.Println(flakyReader().RetryWhen(handler).Collect(context.Background()))
	fmt.Println(handler.failures, "failures")
	// Output:
	// works after attempt 1: connection reset
	// works after attempt 2: connection reset
	// 3 attempts, <nil>
	// [a a a b c] <nil>
	// 2 failures
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

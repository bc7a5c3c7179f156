package stream_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/benbjohnson/clock"

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

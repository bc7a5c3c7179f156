package stream_test

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

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

package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/stream"
)

func ExampleStream_Filter() {
	show(stream.Range(1, 6).Filter(func(v int) bool { return v%2 == 0 }))
	// Output: 2 4 6 → <nil>
}

func ExampleStream_Take() {
	show(stream.Of(1, 2).Concat(stream.Never[int]()).Take(2)) // does not wait for a third value
	// Output: 1 2 → <nil>
}

func ExampleStream_Skip() {
	show(stream.Of("header", "a", "b").Skip(1))
	// Output: a b → <nil>
}

func ExampleStream_TakeWhile() {
	show(stream.Of(1, 2, 3, 1).TakeWhile(func(v int) bool { return v < 3 }))
	// Output: 1 2 → <nil>
}

func ExampleStream_SkipWhile() {
	show(stream.Of(1, 2, 3, 1).SkipWhile(func(v int) bool { return v < 3 }))
	// Output: 3 1 → <nil>
}

func ExampleStream_Tap() {
	delivered := 0
	show(stream.Of("a", "b").Tap(func(string) { delivered++ }))
	fmt.Println(delivered)
	// Output:
	// a b → <nil>
	// 2
}

func ExampleStream_OnEnd() {
	connection := stream.Of("a", "b", "c").OnEnd(func(err error) { fmt.Print("closed ") })
	show(connection)
	show(connection.Take(1))
	// Output:
	// a b c closed → <nil>
	// a closed → <nil>
}

func ExampleStream_Concat() {
	show(stream.Of("history").Concat(stream.Of("live", "live")))
	// Output: history live live → <nil>
}

func ExampleStream_Merge() {
	all, err := stream.Of(1, 2).Merge(stream.Of(10, 20), stream.Of(100)).Collect(context.Background())
	slices.Sort(all) // they come in any order
	fmt.Println(all, err)
	// Output: [1 2 10 20 100] <nil>
}

func ExampleStream_Catch() {
	primary := stream.Of(1).Concat(stream.Fail[int](errors.New("primary is down")))
	show(primary.Catch(func(err error) stream.Stream[int] {
		fmt.Print("(", err, ") ")
		return stream.Of(2, 3)
	}))
	// Output: 1 (primary is down) 2 3 → <nil>
}

func ExampleStream_MustNotEnd() {
	feed := stream.Of("a", "b") // a connection that the server closes
	show(feed.MustNotEnd(errors.New("the feed has stopped")).Retry(1))
	// Output: a b a b → the feed has stopped
}

func ExampleStream_Repeat() {
	show(stream.Of("tick", "tock").Repeat(2))
	// Output: tick tock tick tock → <nil>
}

func ExampleStream_Timeout() {
	mock := clock.NewMock()
	stalls := stream.Defer(func(context.Context) stream.Stream[int] {
		mock.Add(30 * time.Second)
		return stream.Never[int]()
	})
	feed := stream.Of(1, 2).Concat(stalls).Timeout(30 * time.Second)
	err := feed.ForEach(stream.WithClock(context.Background(), mock), func(v int) { fmt.Println(v) })
	fmt.Println(errors.Is(err, stream.ErrTimeout), err)
	// Output:
	// 1
	// 2
	// true stream: timeout: nothing came for 30s
}

func ExampleStream_Delay() {
	clock := &leap{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	ctx := stream.WithClock(context.Background(), clock)
	_ = stream.Of("slow", "motion").Delay(5*time.Second).ForEach(ctx, func(v string) {
		fmt.Println(v, "at", clock.now.Format(time.TimeOnly))
	})
	// Output:
	// slow at 00:00:05
	// motion at 00:00:10
}

func ExampleStream_Debounce() {
	typed := stream.Of("r", "re", "ret", "retry")
	showAtOnce(typed.Debounce(300 * time.Millisecond)) // the last one, since the source ends
	// Output: retry → <nil>
}

func ExampleStream_Throttle() {
	clicks := stream.Of("click", "click", "click")
	showAtOnce(clicks.Throttle(time.Second))
	// Output: click → <nil>
}

func ExampleStream_ThrottleLatest() {
	progress := stream.Range(0, 101)
	showAtOnce(progress.ThrottleLatest(time.Second)) // the last value comes at the latest at the end
	// Output: 0 100 → <nil>
}

func ExampleStream_TimeShift() {
	start := time.Now()
	// All three at once, 10 ms later. Delay would take 30 ms.
	show(stream.Of("a", "b", "c").TimeShift(10*time.Millisecond, 100))
	fmt.Println(time.Since(start) >= 10*time.Millisecond)
	// Output:
	// a b c → <nil>
	// true
}

func ExampleStream_Buffer() {
	// The three values are made while the consumer processes the first.
	made := make(chan int, 3)
	s := stream.Range(1, 3).Tap(func(v int) { made <- v }).Buffer(2)
	err := s.ForEach(context.Background(), func(v int) {
		if v == 1 {
			fmt.Println("made:", <-made, <-made, <-made)
		}
		fmt.Println("used:", v)
	})
	fmt.Println(err)
	// Output:
	// made: 1 2 3
	// used: 1
	// used: 2
	// used: 3
	// <nil>
}

func ExampleStream_TakeUntilDone() {
	stop := make(chan struct{})
	feed := stream.Of("a", "b").Concat(stream.Never[string]())
	show(feed.Retry(3).TakeUntilDone(stop).Tap(func(v string) {
		if v == "b" {
			close(stop) // any goroutine may call it at any time
		}
	}))
	// Output: a b → <nil>
}

func ExampleStream_StartWith() {
	show(stream.Of("a", "b").StartWith("header"))
	// Output: header a b → <nil>
}

func ExampleStream_DefaultIfEmpty() {
	show(stream.Empty[string]().DefaultIfEmpty("none"))
	// Output: none → <nil>
}

func ExampleStream_SwitchIfEmpty() {
	cache, database := stream.Empty[string](), stream.Of("a", "b")
	show(cache.SwitchIfEmpty(database))
	// Output: a b → <nil>
}

func ExampleStream_TakeLast() {
	show(stream.Range(1, 10).TakeLast(3))
	// Output: 8 9 10 → <nil>
}

func ExampleStream_SkipLast() {
	show(stream.Of("a", "b", "trailer").SkipLast(1))
	// Output: a b → <nil>
}

func ExampleStream_IgnoreElements() {
	imported := stream.Of("a", "b").Tap(func(v string) { fmt.Print("imported ", v, "; ") })
	show(imported.IgnoreElements().Concat(stream.Of("done")))
	// Output: imported a; imported b; done → <nil>
}

package operators_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func ExampleMap() {
	lengths := operators.Map(stream.Of("ant", "horse"), func(s string) int { return len(s) })
	fmt.Println(lengths.Collect(context.Background()))
	// Output: [3 5] <nil>
}

func ExampleTryMap() {
	parse := func(_ context.Context, s string) (int, error) { return strconv.Atoi(s) }
	fmt.Println(operators.TryMap(stream.Of("1", "2", "three", "4"), parse).Collect(context.Background()))
	// Output: [1 2] strconv.Atoi: parsing "three": invalid syntax
}

func ExampleTryFilter() {
	known := map[string]bool{"ann": true, "bob": false}
	allowed := func(_ context.Context, user string) (bool, error) {
		ok, found := known[user]
		if !found {
			return false, fmt.Errorf("no user %s", user)
		}
		return ok, nil
	}
	fmt.Println(operators.TryFilter(stream.Of("ann", "bob", "ann", "eve"), allowed).Collect(context.Background()))
	// Output: [ann ann] no user eve
}

func ExampleMapErr() {
	feed := stream.Of(1, 2).Concat(stream.Fail[int](io.ErrUnexpectedEOF))
	feed = operators.MapErr(feed, func(err error) error { return fmt.Errorf("reading the feed: %w", err) })
	values, err := feed.Collect(context.Background())
	fmt.Println(values, err, errors.Is(err, io.ErrUnexpectedEOF))
	// Output: [1 2] reading the feed: unexpected EOF true
}

func ExampleScan() {
	balance := operators.Scan(stream.Of(100, -30, 5), 1000, func(balance, amount int) int { return balance + amount })
	fmt.Println(balance.Collect(context.Background()))
	// Output: [1100 1070 1075] <nil>
}

func ExampleReduce() {
	sum := operators.Reduce(stream.Range(1, 100), 0, func(sum, v int) int { return sum + v })
	fmt.Println(sum.Collect(context.Background()))
	// Output: [5050] <nil>
}

func ExampleCount() {
	even := stream.Range(1, 9).Filter(func(v int) bool { return v%2 == 0 })
	fmt.Println(operators.Count(even).Collect(context.Background()))
	// Output: [4] <nil>
}

func ExampleFirst() {
	ctx := context.Background()
	over := func(v int) bool { return v*v > 200 }
	fmt.Println(operators.First(stream.Range(1, math.MaxInt).Filter(over)).Collect(ctx))
	_, err := operators.First(stream.Range(1, 9).Filter(over)).Collect(ctx)
	fmt.Println(errors.Is(err, operators.ErrEmpty))
	// Output:
	// [15] <nil>
	// true
}

func ExampleLast() {
	fmt.Println(operators.Last(stream.Of("low", "high", "latest")).Collect(context.Background()))
	// Output: [latest] <nil>
}

func ExamplePairwise() {
	steps := operators.Map(operators.Pairwise(stream.Of(10, 15, 12)), func(p operators.Pair[int, int]) int {
		return p.Second - p.First
	})
	fmt.Println(steps.Collect(context.Background()))
	// Output: [5 -3] <nil>
}

func ExampleDistinct() {
	visitors := stream.Of("ann", "bob", "ann", "cat", "bob")
	fmt.Println(operators.Distinct(visitors).Collect(context.Background()))
	// Output: [ann bob cat] <nil>
}

func ExampleDistinctBy() {
	words := stream.Of("Go", "go", "stream", "GO")
	fmt.Println(operators.DistinctBy(words, strings.ToLower).Collect(context.Background()))
	// Output: [Go stream] <nil>
}

func ExampleDistinctUntilChanged() {
	states := stream.Of("up", "up", "down", "down", "up")
	fmt.Println(operators.DistinctUntilChanged(states).Collect(context.Background()))
	// Output: [up down up] <nil>
}

func ExampleDistinctUntilChangedBy() {
	temperatures := stream.Of(20.0, 20.1, 20.3, 21.2, 21.4, 19.9)
	changes := operators.DistinctUntilChangedBy(temperatures, func(v float64) int { return int(v) })
	fmt.Println(changes.Collect(context.Background()))
	// Output: [20 21.2 19.9] <nil>
}

func ExampleConcatMap() {
	pages := map[int][]string{1: {"a", "b"}, 2: {"c"}, 3: {"d", "e"}}
	items := operators.ConcatMap(stream.Range(1, 3), func(page int) stream.Stream[string] {
		return stream.FromSlice(pages[page])
	})
	fmt.Println(items.Collect(context.Background()))
	// Output: [a b c d e] <nil>
}

// Ten downloads, four at a time.
func ExampleFlatMap() {
	download := func(id int) stream.Stream[string] {
		return stream.FromFunc(func(context.Context) (string, error) { return "file " + strconv.Itoa(id), nil })
	}
	files := operators.FlatMap(stream.Range(1, 10), 4, download)
	n := 0
	err := files.ForEach(context.Background(), func(string) { n++ }) // in the order in which they finish
	fmt.Println(n, err)
	// Output: 10 <nil>
}

// While a report is being made, further clicks do nothing.
// The feed fails while batches are still being written. The error is held until they are.
func ExampleFlatMap_holdTheError() {
	failed := make(chan struct{})
	feed := stream.Range(1, 5).MustNotEnd(io.ErrUnexpectedEOF).OnEnd(func(error) { close(failed) })
	write := func(batch []int) stream.Stream[string] {
		return stream.FromFunc(func(context.Context) (string, error) {
			<-failed
			return fmt.Sprint("written: ", len(batch)), nil
		})
	}
	written := stream.Defer(func(context.Context) stream.Stream[string] {
		end := stream.Empty[string]()
		held := feed.Catch(func(err error) stream.Stream[int] {
			end = stream.Fail[string](err)
			return stream.Empty[int]()
		})
		return operators.FlatMap(operators.Batch(held, 2, 0), math.MaxInt, write).
			Concat(stream.Defer(func(context.Context) stream.Stream[string] { return end }))
	})
	err := written.ForEach(context.Background(), func(line string) { fmt.Println(line) })
	fmt.Println(err)
	// Unordered output:
	// written: 2
	// written: 2
	// written: 1
	// unexpected EOF
}

func ExampleExhaustMap() {
	over := make(chan struct{})
	clicks := stream.Of(1, 2, 3).OnEnd(func(error) { close(over) })
	reports := operators.ExhaustMap(clicks, func(n int) stream.Stream[string] {
		return stream.FromFunc(func(context.Context) (string, error) {
			<-over // it takes longer than the three clicks
			return fmt.Sprint("report ", n), nil
		})
	})
	fmt.Println(reports.Collect(context.Background()))
	// Output: [report 1] <nil>
}

// Each keystroke replaces the search before it.
func ExampleSwitchMap() {
	search := func(text string) stream.Stream[string] {
		if text != "gopher" {
			return stream.Never[string]() // too many to find
		}
		return stream.Of("gopher snake", "gopher tortoise")
	}
	found := operators.SwitchMap(stream.Of("g", "go", "gopher"), search)
	fmt.Println(found.Collect(context.Background()))
	// Output: [gopher snake gopher tortoise] <nil>
}

func ExampleZip() {
	for pair, err := range operators.Zip(stream.Of("a", "b", "c"), stream.Range(1, 2)).All(context.Background()) {
		fmt.Println(pair.First, pair.Second, err)
	}
	// Output:
	// a 1 <nil>
	// b 2 <nil>
}

func ExampleZipWith() {
	lines := stream.Of("package main", "func main() {}")
	numbered := operators.ZipWith(stream.Range(1, math.MaxInt), lines, func(n int, line string) string {
		return fmt.Sprint(n, ": ", line)
	})
	fmt.Println(numbered.Collect(context.Background()))
	// Output: [1: package main 2: func main() {}] <nil>
}

func ExampleZipWith3() {
	names, ages, towns := stream.Of("Ada", "Bob"), stream.Of(36, 41), stream.Of("London", "Oslo")
	s := operators.ZipWith3(names, ages, towns, func(name string, age int, town string) string {
		return fmt.Sprint(name, ", ", age, ", ", town)
	})
	show(s)
	// Output: Ada, 36, London; Bob, 41, Oslo
}

func ExampleZipSlice() {
	columns := []stream.Stream[int]{stream.Of(1, 2), stream.Of(3, 4), stream.Of(5, 6)}
	show(operators.ZipSlice(columns...))
	// Output: [1 3 5]; [2 4 6]
}

// Ends a stream that has no end of its own.
func ExampleTakeUntil() {
	shutdown := make(chan struct{})
	stop := stream.FromFunc(func(ctx context.Context) (string, error) {
		select {
		case <-shutdown:
			return "shut down", nil
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
	})
	jobs := stream.Of(1, 2, 3).Concat(stream.Never[int]())
	err := operators.TakeUntil(jobs, stop).ForEach(context.Background(), func(job int) {
		fmt.Println("job", job)
		if job == 3 {
			close(shutdown)
		}
	})
	fmt.Println("over:", err)
	// Output:
	// job 1
	// job 2
	// job 3
	// over: <nil>
}

// At most 4 rows in an insert, and none waits longer than 100 ms.
func ExampleBatch() {
	rows := stream.Range(1, 10)
	ctx := stream.WithClock(context.Background(), clock.NewMock()) // no time passes here
	err := operators.Batch(rows, 4, 100*time.Millisecond).ForEach(ctx, func(batch []int) {
		fmt.Println("insert", batch)
	})
	fmt.Println(err)
	// Output:
	// insert [1 2 3 4]
	// insert [5 6 7 8]
	// insert [9 10]
	// <nil>
}

func ExampleRace() {
	near, far := stream.Of("near: part 1", "near: part 2"), stream.Never[string]()
	fmt.Println(operators.Race(far, near).Collect(context.Background()))
	// Output: [near: part 1 near: part 2] <nil>
}

func ExampleCombineLatest() {
	price, rate := stream.Of(120.0), stream.Of(0.5)
	inDollars := operators.CombineLatest(price, rate, func(price, rate float64) float64 { return price * rate })
	fmt.Println(inDollars.Collect(context.Background()))
	// Output: [60] <nil>
}

func ExampleCombineLatest3() {
	shown := make(chan struct{}, 2)
	risen := stream.FromFunc(func(context.Context) (int, error) { <-shown; return 110, nil })
	price, amount := stream.Of(100).Concat(risen), stream.Of(3)
	total := operators.CombineLatest3(price, amount, stream.Of("€"), func(price, amount int, currency string) string {
		return fmt.Sprint(price*amount, currency)
	})
	show(total.Tap(func(string) { shown <- struct{}{} }))
	// Output: 300€; 330€
}

func ExampleCombineLatestSlice() {
	shown := make(chan struct{}, 2)
	recovers := stream.FromFunc(func(context.Context) (bool, error) { <-shown; return true, nil })
	replicas := []stream.Stream[bool]{stream.Of(true), stream.Of(true), stream.Of(false).Concat(recovers)}
	show(operators.CombineLatestSlice(replicas...).Tap(func([]bool) { shown <- struct{}{} }))
	// Output: [true true false]; [true true true]
}

// Each order is priced at the current rate.
func ExampleWithLatestFrom() {
	known := make(chan struct{})
	rates := stream.Of(0.4, 0.5).OnEnd(func(error) { close(known) })
	orders := stream.Defer(func(context.Context) stream.Stream[float64] {
		<-known
		return stream.Of(100.0, 200.0)
	})
	priced := operators.WithLatestFrom(orders, rates, func(order, rate float64) float64 { return order * rate })
	fmt.Println(priced.Collect(context.Background()))
	// Output: [50 100] <nil>
}

// The progress at each value of the sampler. With stream.Interval(time.Second) as the sampler, that is once a second.
func ExampleSample() {
	halfway := make(chan struct{})
	progress := stream.Range(1, 50).OnEnd(func(error) { close(halfway) }).Concat(stream.Never[int]())
	asked := stream.FromFunc(func(context.Context) (string, error) { <-halfway; return "?", nil })
	fmt.Println(operators.Sample(progress, asked).Collect(context.Background()))
	// Output: [50] <nil>
}

// How many requests each client has made.
func ExampleGroupBy() {
	clients := stream.Of("ann", "bob", "ann", "ann", "cat", "bob")
	counts := operators.GroupBy(clients, strings.ToUpper, func(client string, group stream.Stream[string]) stream.Stream[string] {
		return operators.Map(operators.Count(group), func(n int) string { return fmt.Sprint(client, ": ", n) })
	})
	_ = counts.ForEach(context.Background(), func(line string) { fmt.Println(line) })
	// Unordered output:
	// ANN: 3
	// BOB: 2
	// CAT: 1
}

// The maximum of each three values. With math.MaxInt and a span of time.Second, it is the maximum of each second.
func ExampleWindow() {
	highest := operators.Window(stream.Of(3, 9, 4, 1, 5, 2, 8), 3, 0, func(window stream.Stream[int]) stream.Stream[int] {
		return operators.Reduce(window, 0, func(top, v int) int { return max(top, v) })
	})
	fmt.Println(highest.Collect(context.Background()))
	// Output: [9 5 8] <nil>
}

// Polls three times, with a short delay.
func ExampleRepeatWhen() {
	polls := 0
	poll := stream.FromFunc(func(context.Context) (string, error) {
		polls++
		return fmt.Sprint("poll ", polls), nil
	})
	s := operators.RepeatWhen(poll, func(ends stream.Stream[operators.Completion]) stream.Stream[operators.Completion] {
		return ends.Take(2).Delay(time.Millisecond)
	})
	fmt.Println(s.Collect(context.Background()))
	// Output: [poll 1 poll 2 poll 3] <nil>
}

// The first consumer starts the source. When the last consumer has left, the source is stopped. The next consumer
// starts it again.
func ExampleShare() {
	ctx := context.Background()
	prices := operators.Share(stream.Defer(func(context.Context) stream.Stream[int] {
		fmt.Println("connected")
		return stream.Of(99, 101, 100)
	}).OnEnd(func(error) { fmt.Println("disconnected") }))

	fmt.Println(prices.Take(2).Collect(ctx))
	fmt.Println(prices.Collect(ctx))
	// Output:
	// connected
	// disconnected
	// [99 101] <nil>
	// connected
	// disconnected
	// [99 101 100] <nil>
}

// Two consumers of one run, from its first value on.
func ExampleShareN() {
	prices := operators.ShareN(stream.Of(99, 101, 100), 2)
	var sum, top int
	var both sync.WaitGroup
	both.Go(func() { _ = prices.ForEach(context.Background(), func(v int) { sum += v }) })
	both.Go(func() { _ = prices.ForEach(context.Background(), func(v int) { top = max(top, v) }) })
	both.Wait()
	fmt.Println(sum, top)
	// Output: 300 101
}

func ExampleShareReplay() {
	asked := 0
	config := operators.ShareReplay(stream.FromFunc(func(context.Context) (string, error) {
		asked++
		return "the configuration", nil
	}), 1)
	show(config)
	show(config)
	fmt.Println("asked:", asked)
	// Output:
	// the configuration
	// the configuration
	// asked: 1
}

// show prints the values of s and the error, if any.
func show[T any](s stream.Stream[T]) {
	values, err := s.Collect(context.Background())
	for i, v := range values {
		if i > 0 {
			fmt.Print("; ")
		}
		fmt.Print(v)
	}
	if err != nil {
		fmt.Print(" # ", err)
	}
	fmt.Println()
}

// The classic form of ReactiveX: zip the failures with a range, and map each to a timer.
func ExampleRetryWhen() {
	attempt := 0
	source := stream.Defer(func(context.Context) stream.Stream[int] {
		attempt++
		return stream.Of(attempt).Concat(stream.Fail[int](fmt.Errorf("attempt %d: connection reset", attempt)))
	})
	handler := func(failures stream.Stream[stream.Failure]) stream.Stream[time.Time] {
		attempts := operators.ZipWith(failures, stream.Range(1, 3), func(_ stream.Failure, n int) int { return n })
		return operators.ConcatMap(attempts, func(n int) stream.Stream[time.Time] {
			return stream.Timer(time.Duration(n*n) * time.Millisecond)
		})
	}
	fmt.Println(operators.RetryWhen(source, handler).Collect(context.Background()))
	// Output: [1 2 3 4] attempt 4: connection reset
}

func ExampleRetryChans() {
	attempt := 0
	// A pipeline of plain channels, which fails in its first run.
	open := func(ctx context.Context) (<-chan string, <-chan error) {
		attempt++
		values, errs := make(chan string), make(chan error, 1)
		go func() {
			defer close(values)
			for _, v := range []string{"a", "b", "c"} {
				select {
				case values <- fmt.Sprint(attempt, v):
				case <-ctx.Done():
					return
				}
				if attempt == 1 {
					errs <- fmt.Errorf("connection reset")
					return
				}
			}
		}()
		return values, errs
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))
	values, errs := operators.RetryChans(ctx, open, policy)
	for v := range values {
		fmt.Println(v)
	}
	fmt.Println(<-errs)
	// Output:
	// 1a
	// 2a
	// 2b
	// 2c
	// <nil>
}

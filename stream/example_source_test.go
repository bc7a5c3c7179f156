package stream_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/stream"
)

// show prints the values of a stream and how it ended.
func show[T any](s stream.Stream[T]) { showUnder(context.Background(), s) }

// showAtOnce is show on a clock that stands still: all values come at one instant.
func showAtOnce[T any](s stream.Stream[T]) {
	showUnder(stream.WithClock(context.Background(), clock.NewMock()), s)
}

func showUnder[T any](ctx context.Context, s stream.Stream[T]) {
	err := s.ForEach(ctx, func(v T) { fmt.Print(v, " ") })
	fmt.Println("→", err)
}

// A stream is a function: any code that pushes values can be a stream.
func ExampleStream() {
	countdown := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
		for n := 3; n > 0; n-- {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !yield(n) {
				return nil
			}
		}
		return nil
	})
	show(countdown)
	// Output: 3 2 1 → <nil>
}

func ExampleOf() {
	show(stream.Of("a", "b", "c"))
	// Output: a b c → <nil>
}

func ExampleFromSlice() {
	primes := []int{2, 3, 5}
	show(stream.FromSlice(primes))
	// Output: 2 3 5 → <nil>
}

func ExampleFromSeq() {
	ages := map[string]int{"Ann": 31, "Bob": 27}
	show(stream.FromSeq(slices.Values(slices.Sorted(maps.Keys(ages)))))
	// Output: Ann Bob → <nil>
}

func ExampleFromSeq2() {
	lines := stream.FromSeq2(func(ctx context.Context) iter.Seq2[string, error] {
		return func(yield func(string, error) bool) {
			scanner := bufio.NewScanner(strings.NewReader("one\ntwo\n")) // a connection, made under ctx
			for scanner.Scan() {
				if !yield(scanner.Text(), nil) {
					return
				}
			}
			if err := scanner.Err(); err != nil {
				yield("", err)
			}
		}
	})
	show(lines)
	// Output: one two → <nil>
}

func ExampleFromFunc() {
	fetch := func(ctx context.Context) (int, error) { return 42, nil }
	show(stream.FromFunc(fetch))
	// Output: 42 → <nil>
}

func ExampleFromChan() {
	c := make(chan int, 2)
	c <- 1
	c <- 2
	close(c)
	s := stream.FromChan(c)
	show(s)
	show(s)
	// Output:
	// 1 2 → <nil>
	// → stream: the source cannot be run a second time
}

// broker is a client as that of MQTT: it calls back for each message, and again for a message that was not
// acknowledged.
type broker struct{ unacknowledged []string }

// subscribe delivers messages until the connection breaks, after two.
func (b *broker) subscribe(onMessage func(text string, ack func())) (lost <-chan error) {
	broken := make(chan error, 1)
	go func() {
		for range min(2, len(b.unacknowledged)) {
			onMessage(b.unacknowledged[0], func() { b.unacknowledged = b.unacknowledged[1:] })
		}
		broken <- errors.New("connection lost")
	}()
	return broken
}

// A client that calls back. listen waits for the end of the connection, and acknowledges what the consumer has taken.
// RetryWhen connects again.
func ExampleFromCallbacks() {
	b := &broker{unacknowledged: []string{"on", "off", "on", "off", "on"}}
	listen := func(ctx context.Context, push func(string) bool) error {
		fmt.Println("-- connect")
		lost := b.subscribe(func(text string, ack func()) {
			if push(text) {
				ack()
			}
		})
		select {
		case err := <-lost:
			return err
		case <-ctx.Done(): // the consumer has stopped
			return <-lost // a real client disconnects here
		}
	}
	messages := stream.FromCallbacks(listen).Retry(9).Take(5)
	fmt.Println(messages.ForEach(context.Background(), func(text string) { fmt.Println(text) }))
	// Output:
	// -- connect
	// on
	// off
	// -- connect
	// on
	// off
	// -- connect
	// on
	// <nil>
}

func ExampleFromChans() {
	produce := func(ctx context.Context) (<-chan int, <-chan error) {
		values, errs := make(chan int), make(chan error, 1)
		go func() {
			defer close(values)
			for i := range 3 {
				select {
				case values <- i:
				case <-ctx.Done():
					return
				}
			}
			errs <- errors.New("out of numbers")
		}()
		return values, errs
	}
	show(stream.FromChans(produce).Retry(1))
	// Output: 0 1 2 0 1 2 → out of numbers
}

// Each attempt opens the file, and closes it before the next one does.
func ExampleUsing() {
	dir, err := os.MkdirTemp("", "using")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "numbers")
	if err := os.WriteFile(name, []byte("one\ntwo\nthree\n"), 0o600); err != nil {
		panic(err)
	}

	open := func(context.Context) (*os.File, error) { return os.Open(name) }
	lines := func(f *os.File) stream.Stream[string] {
		scanner := bufio.NewScanner(f)
		return stream.FromSeq2(func(context.Context) iter.Seq2[string, error] {
			return func(yield func(string, error) bool) {
				for scanner.Scan() {
					if !yield(scanner.Text(), nil) {
						return
					}
				}
				if err := scanner.Err(); err != nil {
					yield("", err)
				}
			}
		})
	}
	show(stream.Using(open, lines, (*os.File).Close).Retry(2).Take(2))
	// Output: one two → <nil>
}

func ExampleDefer() {
	attempt := 0
	s := stream.Defer(func(ctx context.Context) stream.Stream[string] {
		attempt++
		return stream.Of(fmt.Sprintf("run-%d", attempt))
	})
	show(s)
	show(s)
	// Output:
	// run-1 → <nil>
	// run-2 → <nil>
}

func ExampleEmpty() {
	show(stream.Empty[int]())
	// Output: → <nil>
}

func ExampleNever() {
	show(stream.Never[int]().Timeout(time.Millisecond))
	// Output: → stream: timeout: nothing came for 1ms
}

func ExampleFail() {
	show(stream.Of(1, 2).Concat(stream.Fail[int](errors.New("no more"))))
	// Output: 1 2 → no more
}

func ExampleRange() {
	show(stream.Range(5, 3))
	// Output: 5 6 7 → <nil>
}

func ExampleTimer() {
	start := time.Now()
	for now, err := range stream.Timer(10 * time.Millisecond).All(context.Background()) {
		fmt.Println(now.Sub(start) >= 10*time.Millisecond, err)
	}
	// Output: true <nil>
}

func ExampleInterval() {
	n := 0
	err := stream.Interval(time.Millisecond).Take(3).ForEach(context.Background(), func(time.Time) { n++ })
	fmt.Println(n, "ticks,", err)
	// Output: 3 ticks, <nil>
}

// A request handler sends values into a subject, and its subscribers receive them.
func ExampleNewSubject() {
	prices := stream.NewSubject[float64](1) // a late subscriber receives the last value first
	ctx := context.Background()
	_ = prices.Send(ctx, 41.5)
	_ = prices.Send(ctx, 42)

	done := make(chan struct{})
	there := make(chan struct{})
	go func() {
		defer close(done)
		err := prices.Stream().ForEach(ctx, func(v float64) {
			fmt.Println(v)
			if v == 42 {
				close(there)
			}
		})
		fmt.Println("ended:", err)
	}()
	<-there
	_ = prices.Send(ctx, 43) // returns when the subscriber has processed it
	prices.Close(errors.New("market closed"))
	<-done
	fmt.Println(prices.Send(ctx, 44), errors.Is(prices.Send(ctx, 44), stream.ErrClosed))
	// Output:
	// 42
	// 43
	// ended: market closed
	// stream: the subject is closed true
}

func ExampleSubject() {
	s := stream.NewSubject[string](2)
	for _, v := range []string{"a", "b", "c"} {
		_ = s.Send(context.Background(), v) // there is no subscriber: it returns at once
	}
	s.Close(nil)
	show(s.Stream())
	// Output: b c → <nil>
}

func ExampleSubject_Send() {
	s := stream.NewSubject[int](0)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	fmt.Println(s.Send(ctx, 1))
	// Output: context canceled
}

// After Close with an error, a retry cannot succeed and is made at most once.
func ExampleSubject_Close() {
	s := stream.NewSubject[int](1)
	_ = s.Send(context.Background(), 7)
	s.Close(errors.New("gone"))
	show(s.Stream().Retry(1000))
	// Output: 7 → gone
}

func ExampleSubject_Stream() {
	s := stream.NewSubject[int](3)
	for v := range 5 {
		_ = s.Send(context.Background(), v)
	}
	show(s.Stream().Take(2)) // otherwise it would wait for more
	// Output: 2 3 → <nil>
}

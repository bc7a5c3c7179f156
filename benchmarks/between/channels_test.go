package between

import (
	"context"
	"sync"
	"time"
)

func channel(size int) func(context.Context, int) (int, error) {
	return func(_ context.Context, n int) (sum int, _ error) {
		for v := range ints(n, size) {
			sum += v
		}
		return sum, nil
	}
}

func ints(n, size int) <-chan int {
	c := make(chan int, size)
	go func() {
		defer close(c)
		for v := range n {
			c <- v
		}
	}()
	return c
}

// channelAnswered makes the source wait until the item was processed.
func channelAnswered(_ context.Context, n int) (sum int, _ error) {
	c, answer := make(chan int), make(chan struct{})
	go func() {
		defer close(c)
		for v := range n {
			c <- v
			<-answer
		}
	}()
	for v := range c {
		sum += v
		answer <- struct{}{}
	}
	return sum, nil
}

// channelTimer fails when nothing has come for an hour.
func channelTimer(_ context.Context, n int) (sum int, _ error) {
	c := ints(n, 0)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case v, ok := <-c:
			if !ok {
				return sum, nil
			}
			sum += v
			timer.Reset(time.Hour)
		case <-timer.C:
			return sum, context.DeadlineExceeded
		}
	}
}

func twice(run func(context.Context, int) (int, error)) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		sum, err := run(ctx, n)
		return 2 * sum, err
	}
}

// channelPool uses four goroutines that take items and send results.
func channelPool(_ context.Context, n int) (sum int, _ error) {
	in, out := ints(n, 0), make(chan int)
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			for v := range in {
				out <- v
			}
		})
	}
	go func() {
		workers.Wait()
		close(out)
	}()
	for v := range out {
		sum += v
	}
	return sum, nil
}

package items

import "context"

// channels uses a goroutine for each stage and a channel between two stages, as in code written by hand.
func channels(buffer int, checkContext bool) func(context.Context, int) (int, error) {
	return func(ctx context.Context, n int) (int, error) {
		var done <-chan struct{}
		if checkContext {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			done = ctx.Done()
		}
		return reduceChan(filterChan(mapChan(rangeChan(n, buffer, done), buffer, done), buffer, done)), nil
	}
}

// channelsRetried restarts the stages when they fail.
func channelsRetried(ctx context.Context, n int) (int, error) {
	for retries := 0; ; retries++ {
		sum, err := channels(0, true)(ctx, n)
		if err == nil || retries == 3 {
			return sum, err
		}
	}
}

// send returns false if done is closed first. A nil done needs no select.
func send(to chan<- int, v int, done <-chan struct{}) bool {
	if done == nil {
		to <- v
		return true
	}
	select {
	case to <- v:
		return true
	case <-done:
		return false
	}
}

func rangeChan(n, buffer int, done <-chan struct{}) <-chan int {
	out := make(chan int, buffer)
	go func() {
		defer close(out)
		for v := range n {
			if !send(out, v, done) {
				return
			}
		}
	}()
	return out
}

func mapChan(in <-chan int, buffer int, done <-chan struct{}) <-chan int {
	out := make(chan int, buffer)
	go func() {
		defer close(out)
		for v := range in {
			if !send(out, triple(v), done) {
				return
			}
		}
	}()
	return out
}

func filterChan(in <-chan int, buffer int, done <-chan struct{}) <-chan int {
	out := make(chan int, buffer)
	go func() {
		defer close(out)
		for v := range in {
			if even(v) && !send(out, v, done) {
				return
			}
		}
	}()
	return out
}

func reduceChan(in <-chan int) int {
	sum := 0
	for v := range in {
		sum = plus(sum, v)
	}
	return sum
}

package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/benbjohnson/clock"

	"github.com/retrywhen/retrywhen/stream"
)

// channels is a producer: open makes its two channels and calls produce on a goroutine.
type channels struct {
	values chan int
	errs   chan error
}

func open(buffer, errBuffer int, produce func(ctx context.Context, c channels)) stream.Stream[int] {
	return stream.FromChans(func(ctx context.Context) (<-chan int, <-chan error) {
		c := channels{make(chan int, buffer), make(chan error, errBuffer)}
		go produce(ctx, c)
		return c.values, c.errs
	})
}

func (c channels) send(n int) {
	for i := range n {
		c.values <- i + 1
	}
}

// Every producer that ends in an error is served, whatever it closes: all its values come, then the error.
func TestFromChans_FailingProducers(t *testing.T) {
	for _, buffer := range []int{0, 1, 10} {
		for _, errBuffer := range []int{0, 1} {
			for name, finish := range map[string]func(c channels){
				"closes neither":      func(channels) {},
				"closes values":       func(c channels) { close(c.values) },
				"closes errs":         func(c channels) { close(c.errs) },
				"closes both":         func(c channels) { close(c.values); close(c.errs) },
				"closes both, errs 1": func(c channels) { close(c.errs); close(c.values) },
			} {
				bubble(t, fmt.Sprintf("%s/%d/%d", name, buffer, errBuffer), func(t *testing.T) {
					s := open(buffer, errBuffer, func(_ context.Context, c channels) {
						c.send(3)
						c.errs <- errBoom
						finish(c)
					})
					for range 20 {
						expect(t, s, []int{1, 2, 3}, errBoom)
					}
				})
			}
		}
	}
}

// So is every producer that ends well and says so, by closing a channel or by a nil error.
func TestFromChans_ProducersThatEnd(t *testing.T) {
	for _, buffer := range []int{0, 1, 10} {
		for name, produce := range map[string]func(context.Context, channels){
			"closes values":          func(_ context.Context, c channels) { c.send(3); close(c.values) },
			"closes both":            func(_ context.Context, c channels) { c.send(3); close(c.values); close(c.errs) },
			"closes errs":            func(_ context.Context, c channels) { c.send(3); close(c.errs) },
			"closes errs, then both": func(_ context.Context, c channels) { c.send(3); close(c.errs); close(c.values) },
			"closes neither":         func(_ context.Context, c channels) { c.send(3); c.errs <- nil },
			"sends a nil error at the end": func(ctx context.Context, c channels) {
				c.send(3)
				close(c.values)
				select {
				case c.errs <- nil:
				case <-ctx.Done():
				}
			},
		} {
			bubble(t, fmt.Sprintf("%s/%d", name, buffer), func(t *testing.T) {
				for range 20 {
					expect(t, open(buffer, 0, produce), []int{1, 2, 3}, nil)
				}
				synctest.Wait()
			})
		}
	}
}

// The end waits for nothing: what a producer sends after it is lost, and the producer is let go.
func TestFromChans_WhatIsSentAfterTheEndIsLost(t *testing.T) {
	for name, produce := range map[string]func(ctx context.Context, c channels){
		"an error after values are closed": func(ctx context.Context, c channels) {
			close(c.values)
			time.Sleep(time.Second)
			select {
			case c.errs <- errBoom:
				t.Error("the error was received")
			case <-ctx.Done():
			}
		},
		"a value after errs are closed": func(ctx context.Context, c channels) {
			close(c.errs)
			time.Sleep(time.Second)
			select {
			case c.values <- 1:
				t.Error("the value was received")
			case <-ctx.Done():
			}
		},
	} {
		bubble(t, name, func(t *testing.T) {
			start := time.Now()
			if expect(t, open(0, 0, produce), nil, nil); time.Since(start) != 0 {
				t.Errorf("it waited for %v", time.Since(start))
			}
			time.Sleep(time.Second)
		})
	}
}

// A clock that nobody moves does not hold the end up.
func TestFromChans_ReadsNoClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(1, 1, func(_ context.Context, c channels) { c.send(1); close(c.values) })
		got, err := s.Collect(stream.WithClock(t.Context(), clock.NewMock()))
		if err != nil || !slices.Equal(got, []int{1}) {
			t.Errorf("got %v, %v", got, err)
		}
	})
}

// Nil errors in errs do not hide the error behind them, nor do they keep it.
func TestFromChans_AProducerThatChangesItsMind(t *testing.T) {
	filled := func(errors ...error) stream.Stream[int] {
		return stream.FromChans(func(context.Context) (<-chan int, <-chan error) {
			values, errs := make(chan int, 1), make(chan error, 3)
			values <- 1
			for _, err := range errors {
				errs <- err
			}
			close(errs)
			return values, errs
		})
	}
	for range 20 {
		expect(t, filled(nil, nil, errBoom), []int{1}, errBoom)
		expect(t, filled(nil, nil, nil), []int{1}, nil)
	}
}

// A consumer that stops among the values that are delivered before an error gets no further value, and no error.
func TestFromChans_AStopAmongHeldValues(t *testing.T) {
	s := stream.FromChans(func(context.Context) (<-chan int, <-chan error) {
		values, errs := make(chan int, 5), make(chan error, 1)
		for i := range 5 {
			values <- i
		}
		errs <- errBoom
		return values, errs
	})
	for range 100 { // either channel may be looked at first
		n := 0
		if err := s(t.Context(), func(int) bool { n++; return n < 2 }); err != nil || n != 2 {
			t.Fatalf("%d values, %v", n, err)
		}
	}
}

func TestFromChans_CancelledAsTheValuesAreClosed(t *testing.T) {
	for range 100 {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := open(0, 0, func(_ context.Context, c channels) {
			cancel(errCause)
			close(c.values)
		})
		if _, err := s.Collect(ctx); !errors.Is(err, errCause) {
			t.Fatal(err)
		}
	}
}

// A value that somebody is just sending when the error comes is delivered before it.
func TestFromChans_AValueThatIsOfferedWhenTheErrorComes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(0, 0, func(_ context.Context, c channels) {
			c.values <- 1
			go func() { c.errs <- errBoom }()
			c.values <- 2
		}).Tap(func(int) { synctest.Wait() })
		for range 30 {
			expect(t, s, []int{1, 2}, errBoom)
		}
	})
}

func TestFromChans_NilChannels(t *testing.T) {
	pair := func(values chan int, errs chan error) stream.Stream[int] {
		return stream.FromChans(func(context.Context) (<-chan int, <-chan error) { return values, errs })
	}
	bubble(t, "no errs", func(t *testing.T) {
		values := make(chan int, 2)
		values <- 1
		values <- 2
		close(values)
		expect(t, pair(values, nil), []int{1, 2}, nil)
	})
	bubble(t, "no values, an error", func(t *testing.T) {
		errs := make(chan error, 1)
		errs <- errBoom
		expect(t, pair(nil, errs), nil, errBoom)
	})
	bubble(t, "no values, errs closed", func(t *testing.T) {
		errs := make(chan error)
		time.AfterFunc(time.Second, func() { close(errs) })
		expect(t, pair(nil, errs), nil, nil)
	})
	bubble(t, "no values, cancelled", func(t *testing.T) {
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errCause)
		defer cancel()
		if _, err := pair(nil, make(chan error)).Collect(ctx); !endedBy(ctx, err) {
			t.Error(err)
		}
	})
	t.Run("neither", func(t *testing.T) {
		_, err := pair(nil, nil).Collect(t.Context())
		if err == nil || err.Error() != "stream: FromChans: open returned two nil channels" {
			t.Error(err)
		}
	})
}

func TestFromChans_TheRunsContextEndsWithTheRun(t *testing.T) {
	for name, run := range map[string]func(ctx context.Context, s stream.Stream[int]) error{
		"the consumer stops": func(ctx context.Context, s stream.Stream[int]) error { return s(ctx, func(int) bool { return false }) },
		"it fails":           func(ctx context.Context, s stream.Stream[int]) error { _, err := s.Collect(ctx); return err },
		"the consumer panics": func(ctx context.Context, s stream.Stream[int]) error {
			recovered(func() { _ = s.ForEach(ctx, func(int) { panic(1) }) })
			return nil
		},
		"it stops in the values held": func(ctx context.Context, s stream.Stream[int]) error {
			return s(ctx, func(v int) bool { time.Sleep(time.Second); return v < 2 })
		},
		"it is cancelled in the values held": func(ctx context.Context, s stream.Stream[int]) error {
			ctx, cancel := context.WithCancelCause(ctx)
			err := s.ForEach(ctx, func(v int) {
				time.Sleep(time.Second)
				if v == 2 {
					cancel(errCause)
				}
				if v == 3 {
					t.Error("3 came after the cancel")
				}
			})
			if !errors.Is(err, errCause) {
				t.Error(err)
			}
			return err
		},
	} {
		bubble(t, name, func(t *testing.T) {
			left := false
			s := open(3, 0, func(ctx context.Context, c channels) {
				c.send(3)
				select {
				case c.errs <- errBoom:
				case <-ctx.Done():
				}
				<-ctx.Done()
				left = true
			})
			for range 20 {
				left = false
				_ = run(t.Context(), s)
				if synctest.Wait(); !left {
					t.Error("the producer was not told to leave")
				}
			}
		})
	}
}

func TestChans_HoldsUpToBufferValues(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := 0
		values, _ := stream.Range(0, 100).Tap(func(int) { made++ }).Chans(t.Context(), 4)
		synctest.Wait()
		if len(values) != 4 || cap(values) != 4 || made != 5 {
			t.Errorf("%d of %d values are held, %d made", len(values), cap(values), made)
		}
	})
}

func TestChans_NothingIsSentAfterACancelThoughThereIsRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 30 {
			ctx, cancel := context.WithCancelCause(t.Context())
			careless := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
				yield(1)
				cancel(errCause)
				yield(2)
				return nil
			})
			values, errs := careless.Chans(ctx, 10)
			if err := <-errs; !endedBy(ctx, err) || len(values) != 1 {
				t.Errorf("%d values are held, %v", len(values), err)
			}
		}
	})
}

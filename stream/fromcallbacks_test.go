package stream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/stream"
)

// outcome is when a push returned, since the bubble began, and what.
type outcome struct {
	at   time.Duration
	more bool
}

// client is a client that calls back, each call on a goroutine of its own, as soon as its time comes.
type client struct {
	calls []ev // the values and when push is called with them
	lasts time.Duration
	err   error // of the connection
	quits time.Duration
	bye   error // after the context has ended

	pushes map[int]outcome
}

// listen passes the calls to push, and returns when the connection ends, after lasts, or ctx.
func (c *client) listen(ctx context.Context, push func(int) bool) error {
	start := time.Now()
	c.pushes = make(map[int]outcome)
	var mu sync.Mutex
	for _, call := range c.calls {
		time.AfterFunc(call.at, func() {
			more := push(call.v)
			mu.Lock()
			defer mu.Unlock()
			c.pushes[call.v] = outcome{time.Since(start), more}
		})
	}
	select {
	case <-time.After(c.lasts):
		return c.err
	case <-ctx.Done():
		time.Sleep(c.quits)
		return c.bye
	}
}

func (c *client) expect(t *testing.T, want map[int]outcome) {
	t.Helper()
	synctest.Wait()
	if fmt.Sprint(c.pushes) != fmt.Sprint(want) {
		t.Errorf("the pushes returned %v, want %v", c.pushes, want)
	}
}

// Values come in the order of the calls. A push waits until the consumer is done with its value; a push that waits when
// listen returns is delivered before the end, and a later one is refused at once.
func TestFromCallbacks(t *testing.T) {
	for name, end := range map[string]error{"a good end": nil, "a failure": errBoom} {
		bubble(t, name, func(t *testing.T) {
			c := client{calls: []ev{{1 * ms, 1}, {3 * ms, 2}, {4 * ms, 3}, {5 * ms, 4}, {9 * ms, 5}}, lasts: 6 * ms, err: end}
			var came []ev
			start := time.Now()
			err := stream.FromCallbacks(c.listen)(t.Context(), func(v int) bool {
				came = append(came, ev{time.Since(start), v})
				time.Sleep(4 * ms)
				return true
			})
			if want := []ev{{1 * ms, 1}, {5 * ms, 2}, {9 * ms, 3}, {13 * ms, 4}}; err != end || !slices.Equal(came, want) || time.Since(start) != 17*ms {
				t.Errorf("got %v, then %v at %v, want %v", came, err, time.Since(start), want)
			}
			c.expect(t, map[int]outcome{1: {5 * ms, true}, 2: {9 * ms, true}, 3: {13 * ms, true}, 4: {17 * ms, true}, 5: {9 * ms, false}})
		})
	}
}

// A push by listen itself returns what the consumer's yield returned.
func TestFromCallbacks_PushReturnsWhatTheConsumerDid(t *testing.T) {
	var got []bool
	s := stream.FromCallbacks(func(ctx context.Context, push func(int) bool) error {
		for v := range 5 {
			got = append(got, push(v))
		}
		return errBoom // dropped: the consumer has stopped
	})
	values, err := s.Take(3).Collect(t.Context())
	if want := []bool{true, true, false, false, false}; !slices.Equal(got, want) || !slices.Equal(values, []int{0, 1, 2}) || err != nil {
		t.Errorf("push returned %v, want %v; the stream had %v, %v", got, want, values, err)
	}
}

// A consumer that stops refuses the pushes that wait, at once, and the run waits for listen.
func TestFromCallbacks_TheConsumerStops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client{calls: []ev{{1 * ms, 1}, {2 * ms, 2}, {3 * ms, 3}, {9 * ms, 4}, {30 * ms, 5}}, lasts: time.Hour, quits: 10 * ms, bye: errBoom}
		start := time.Now()
		err := stream.FromCallbacks(c.listen)(t.Context(), func(v int) bool {
			if v != 1 {
				t.Errorf("got %d", v)
			}
			time.Sleep(4 * ms)
			return false
		})
		if took := time.Since(start); err != nil || took != 15*ms {
			t.Errorf("%v after %v, want nil after 15ms", err, took)
		}
		time.Sleep(time.Minute)
		c.expect(t, map[int]outcome{1: {5 * ms, false}, 2: {5 * ms, false}, 3: {5 * ms, false}, 4: {9 * ms, false}, 5: {30 * ms, false}})
	})
}

// The end of ctx releases all pushes at once, that of the value which the consumer is busy with too.
func TestFromCallbacks_TheContextEnds(t *testing.T) {
	for name, bye := range map[string]error{"listen returns nil": nil, "listen returns an error": errBoom, "listen returns the context's": context.Canceled} {
		bubble(t, name, func(t *testing.T) {
			c := client{calls: []ev{{1 * ms, 1}, {2 * ms, 2}, {3 * ms, 3}, {9 * ms, 4}}, lasts: time.Hour, quits: ms, bye: bye}
			start := time.Now()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(5*ms, func() { cancel(errCause) })
			err := stream.FromCallbacks(c.listen)(ctx, func(v int) bool {
				if v != 1 {
					t.Errorf("got %d", v)
				}
				time.Sleep(20 * ms)
				return true
			})
			if took := time.Since(start); !endedBy(ctx, err) || bye != nil && !errors.Is(err, bye) || took != 21*ms {
				t.Errorf("%v after %v, want the cause and %v after 21ms", err, took, bye)
			}
			time.Sleep(time.Minute)
			c.expect(t, map[int]outcome{1: {5 * ms, false}, 2: {5 * ms, false}, 3: {5 * ms, false}, 4: {9 * ms, false}})
		})
	}
	bubble(t, "while the consumer waits", func(t *testing.T) {
		c := client{calls: []ev{{1 * ms, 1}, {9 * ms, 2}}, lasts: time.Hour, quits: ms}
		start := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*ms, errCause)
		defer cancel()
		got, err := stream.FromCallbacks(c.listen).Collect(ctx)
		if took := time.Since(start); !endedBy(ctx, err) || took != 6*ms || !slices.Equal(got, []int{1}) {
			t.Errorf("%v, %v after %v, want the cause after 6ms", got, err, took)
		}
		time.Sleep(time.Minute)
		c.expect(t, map[int]outcome{1: {1 * ms, true}, 2: {9 * ms, false}})
	})
}

// A consumer that pushes into its own stream waits until ctx ends.
func TestFromCallbacks_PushInTheConsumer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errCause)
		defer cancel()
		pushes := make(chan func(int) bool, 1)
		err := stream.FromCallbacks(func(ctx context.Context, push func(int) bool) error {
			pushes <- push
			push(1)
			<-ctx.Done()
			return nil
		})(ctx, func(int) bool {
			if (<-pushes)(2) || time.Since(start) != time.Second {
				t.Errorf("push returned after %v", time.Since(start))
			}
			return true
		})
		if !endedBy(ctx, err) {
			t.Error(err)
		}
	})
}

// A panic or Goexit of listen comes after the pushes that wait, and reaches the caller.
func TestFromCallbacks_ListenIsUnwound(t *testing.T) {
	for name, unwind := range map[string]func(){"panic": func() { panic(errBoom) }, "Goexit": runtime.Goexit} {
		bubble(t, name, func(t *testing.T) {
			c := client{calls: []ev{{0, 1}, {0, 2}}, lasts: ms}
			n := 0
			var thrown any
			exited := exits(func() {
				thrown = recovered(func() {
					_ = stream.FromCallbacks(func(ctx context.Context, push func(int) bool) error {
						_ = c.listen(ctx, push)
						unwind()
						return nil
					}).ForEach(t.Context(), func(int) { n++; time.Sleep(2 * ms) })
				})
			})
			p, _ := thrown.(*handoff.Panic)
			if n != 2 || exited != (name == "Goexit") || (p != nil && p.Value == errBoom) != (name == "panic") {
				t.Errorf("%d values; it panicked with %v, exited: %v", n, thrown, exited)
			}
		})
	}
}

// A panic of the consumer releases all pushes and passes through when listen has returned.
func TestFromCallbacks_TheConsumerPanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := client{calls: []ev{{1 * ms, 1}, {2 * ms, 2}}, lasts: time.Hour, quits: 10 * ms, bye: errBoom}
		start := time.Now()
		thrown := recovered(func() {
			_ = stream.FromCallbacks(c.listen).ForEach(t.Context(), func(int) { time.Sleep(2 * ms); panic("mine") })
		})
		if took := time.Since(start); thrown != "mine" || took != 13*ms {
			t.Errorf("panicked with %v after %v, want mine after 13ms", thrown, took)
		}
		c.expect(t, map[int]outcome{1: {3 * ms, false}, 2: {3 * ms, false}})
	})
}

// A retry calls listen again, under a context of its own; a push of an earlier run reaches no later one.
func TestFromCallbacks_EachRunListensAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var earlier func(int) bool
		var before context.Context
		runs := 0
		s := stream.FromCallbacks(func(ctx context.Context, push func(int) bool) error {
			runs++
			if earlier != nil && (earlier(-1) || before.Err() == nil) {
				t.Errorf("run %d: the push of the run before returned true, or its context lasts", runs)
			}
			earlier, before = push, ctx
			push(runs)
			if runs < 3 {
				return errBoom
			}
			return nil
		})
		expect(t, s.Retry(5), []int{1, 2, 3}, nil)
	})
}

// A broker that sends again what was not acknowledged, through four callbacks at once, over connections that break at
// random, to consumers that stop at random: each value is taken once, in the order of its callback.
func TestFromCallbacks_Soak(t *testing.T) {
	total := 20_000
	if os.Getenv("RETRYWHEN_NIGHTLY") == "1" {
		total = 250_000 // of each callback
	}
	type delivery struct{ from, n int }
	const callbacks = 4
	synctest.Test(t, func(t *testing.T) {
		var connection sync.WaitGroup // the callbacks of one
		var acknowledged, taken [callbacks]int
		connections, stops := 0, 0
		s := stream.FromCallbacks(func(ctx context.Context, push func(delivery) bool) error {
			connection.Wait() // the broker notices the end of the last connection
			if connections++; acknowledged == [callbacks]int{total, total, total, total} {
				return nil
			}
			broken := make(chan struct{}, callbacks)
			for from := range callbacks {
				length := 1 + rand.IntN(500)
				connection.Go(func() {
					defer func() { broken <- struct{}{} }()
					for range length {
						if acknowledged[from] == total || !push(delivery{from, acknowledged[from]}) {
							return
						}
						acknowledged[from]++
					}
				})
			}
			for range 1 + rand.IntN(callbacks) {
				<-broken
			}
			return errBoom
		}).RetryWhen(stream.RetryHandlerFunc(func(f stream.Stream[stream.Failure]) stream.Stream[stream.Failure] { return f }))
		for ended := false; !ended; stops++ {
			ended = true
			left := rand.IntN(3000)
			err := s(t.Context(), func(d delivery) bool {
				if left--; left < 0 {
					ended = false
					return false
				}
				if d.n != taken[d.from] {
					t.Fatalf("callback %d: got %d, want %d", d.from, d.n, taken[d.from])
				}
				taken[d.from]++
				return true
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		if taken != [callbacks]int{total, total, total, total} || connections < total/500 || stops < total/3000 {
			t.Errorf("took %v over %d connections and %d stops", taken, connections, stops)
		}
	})
}

// At full speed, whatever ends the run: every push returns, and true only for a value that the consumer took.
func TestFromCallbacks_EndsAtFullSpeed(t *testing.T) {
	for round := range 300 {
		ctx, cancel := context.WithCancelCause(t.Context())
		var calls sync.WaitGroup
		var pushed [3]int // that returned true
		s := stream.FromCallbacks(func(ctx context.Context, push func(int) bool) error {
			for from := range pushed {
				calls.Go(func() {
					for push(from) {
						pushed[from]++
					}
				})
			}
			if round%3 == 0 {
				for range round % 50 {
					runtime.Gosched()
				}
				return errBoom
			}
			<-ctx.Done()
			return ctx.Err()
		})
		if round%3 == 1 {
			calls.Go(func() {
				for range round % 50 {
					runtime.Gosched()
				}
				cancel(errCause)
			})
		}
		var taken [3]int
		n := 0
		err := s(ctx, func(from int) bool {
			if n++; round%3 == 2 && n > round%50 {
				return false
			}
			taken[from]++
			return true
		})
		calls.Wait()
		for from := range pushed {
			if lost := taken[from] - pushed[from]; lost != 0 && (lost != 1 || round%3 != 1) {
				t.Errorf("round %d: %d values were taken, %d pushes returned true", round, taken, pushed)
			}
		}
		switch {
		case round%3 == 0 && err != errBoom, round%3 == 1 && !endedBy(ctx, err), round%3 == 2 && err != nil:
			t.Errorf("round %d: it ended with %v", round, err)
		}
		cancel(nil)
	}
}

// A push allocates at most once.
func TestFromCallbacks_Allocations(t *testing.T) {
	var allocated float64
	s := stream.FromCallbacks(func(_ context.Context, push func(int) bool) error {
		allocated = testing.AllocsPerRun(1000, func() { push(1) })
		return nil
	})
	if err := s.ForEach(t.Context(), func(int) {}); err != nil || allocated > 1 {
		t.Errorf("%v allocations for each push, %v", allocated, err)
	}
}

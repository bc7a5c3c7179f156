package operators_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// One worker was enough so far. Now it makes a long call, and another one has to see to what waits.
func TestMapRetry_SomebodyWatchesTheTimerDuringALongCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		failed := false
		s := operators.MapRetry(stream.Of(1).Concat(stream.Of(2).Delay(5*ms)), constant(10*ms), func(_ context.Context, i int) (string, error) {
			switch {
			case i == 2:
				time.Sleep(time.Second)
			case !failed:
				failed = true
				return "", errBoom
			}
			return fmt.Sprint("r", i), nil
		}, options{Workers: 2})
		expect(t, s, "10r1 1005r2 1005|")
	})
}

// The timer goes off, and before the worker that it wakes has got anywhere there is a new item, which wakes it too: it
// takes the one that is due, and another one has to take the new one.
func TestMapRetry_AnItemComesWithTheTick(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			moved := &handClock{at: time.Unix(0, 0)}
			src := stream.Stream[int](func(_ context.Context, yield func(int) bool) error {
				yield(1)
				synctest.Wait()
				moved.add(10 * ms)
				yield(2)
				return nil
			})
			failed := false
			got, err := operators.MapRetry(src, constant(10*ms), func(_ context.Context, i int) (int, error) {
				switch {
				case i == 1 && !failed:
					failed = true
					return 0, errBoom
				case i == 1:
					time.Sleep(time.Hour)
				}
				return i, nil
			}, options{Workers: 2}).Collect(stream.WithClock(t.Context(), moved))
			if !slices.Equal(got, []int{2, 1}) || err != nil {
				t.Errorf("%v, %v, want 2 while the call for 1 goes on", got, err)
			}
		})
	}
}

// slowClock is the system's clock, which takes its time to set a timer.
type slowClock struct{}

func (slowClock) Now() time.Time { return time.Now() }

func (slowClock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	defer time.Sleep(10 * ms)
	return time.AfterFunc(d, f)
}

// While one worker sets the timer, on its way to a long call, another one puts an item aside that is due by then,
// because of a slow hook: it leaves the timer to the first one, which thinks that whoever put the item aside takes it.
func TestMapRetry_AnItemComesToBeDueWhileTheTimerIsSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		delays := map[int]time.Duration{1: 100 * ms, 2: 15 * ms, 3: 40 * ms, 4: 105 * ms}
		p := retry.New(backoff.Backoff{}, retry.OnRetry(func(_ context.Context, e retry.Event) {
			if e.Delay == delays[2] {
				time.Sleep(30 * ms)
			}
		}))
		var mu sync.Mutex
		calls := map[int]int{}
		s := operators.MapRetry(stream.Of(1, 3, 4).Concat(stream.Of(2).Delay(20*ms)), p, func(_ context.Context, i int) (string, error) {
			mu.Lock()
			calls[i]++
			first := calls[i] == 1
			mu.Unlock()
			switch {
			case first && i == 2:
				return "", retry.RetryAfter(errBoom, delays[i]) // at 20, due at 35, put aside at 50
			case first:
				time.Sleep(5 * ms)
				return "", retry.RetryAfter(errBoom, delays[i])
			case i == 3:
				time.Sleep(time.Second) // from 55 on, when the timer is set for item 1
			}
			return fmt.Sprint("r", i), nil
		}, options{Workers: 3})
		if got := play(stream.WithClock(t.Context(), slowClock{}), s); got != "55r2 110r4 115r1 1055r3 1055|" {
			t.Error(got)
		}
	})
}

// handClock is a clock that is moved by hand and calls back from there.
type handClock struct {
	mu     sync.Mutex
	at     time.Time
	timers []*handTimer
}

type handTimer struct {
	clock *handClock
	at    time.Time
	f     func()
}

func (c *handClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *handClock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	c.mu.Lock()
	defer c.mu.Unlock()
	timer := &handTimer{c, c.at.Add(d), f}
	c.timers = append(c.timers, timer)
	return timer
}

func (t *handTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.f = nil
	return true
}

func (c *handClock) add(d time.Duration) {
	c.mu.Lock()
	c.at = c.at.Add(d)
	var due []func()
	kept := c.timers[:0]
	for _, t := range c.timers {
		switch {
		case t.f == nil:
		case t.at.After(c.at):
			kept = append(kept, t)
		default:
			due = append(due, t.f)
		}
	}
	c.timers = kept
	c.mu.Unlock()
	for _, f := range due {
		f()
	}
}

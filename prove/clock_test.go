package prove

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"
)

// An hour in which nothing ticks is a stall; an hour of ticks is an hour.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newClock()
		start := k.now()
		time.Sleep(time.Hour)
		if d := k.now().Sub(start); d != stall {
			t.Errorf("after a stall %v have passed, want %v", d, stall)
		}
		want := "prove: the machine was too busy: it did nothing for the check in 59m59.98s of 1h0m0s, want at most half; this needs a quieter machine, or a lower Parallel"
		if err := k.busy(); !errors.Is(err, ErrBusy) || err.Error() != want {
			t.Errorf("after a stall: %v, want %s", err, want)
		}
		trouble := errors.New("the server is away")
		for _, test := range []struct {
			err   error
			found int
			more  string
		}{{nil, 0, ""}, {nil, 1, "; so does what was found: 1 finding"}, {trouble, 2, "; meanwhile the server is away"}} {
			if err := k.judge(test.err, test.found); !errors.Is(err, ErrBusy) || err.Error() != want+test.more || errors.Is(err, trouble) != (test.err != nil) {
				t.Errorf("got %v, want %s%s", err, want, test.more)
			}
		}
		go k.run(t.Context())
		synctest.Wait()
		start = k.now()
		time.Sleep(time.Hour)
		if d := k.now().Sub(start); d != time.Hour {
			t.Errorf("%v have passed, want 1h", d)
		}
		if err := k.busy(); err != nil {
			t.Errorf("after a stall of nearly half of the time: %v", err)
		}
		if err := k.judge(trouble, 1); err != trouble {
			t.Errorf("got %v", err)
		}
	})
}

// Runs at once begin with four for each core. There are more while the clock ticks, and fewer when it stands still.
func TestClock_Each(t *testing.T) {
	first := perCore * runtime.GOMAXPROCS(0)
	for _, test := range []struct {
		n, most int
		ticks   time.Duration // between those of the clock
		at      time.Duration
		want    int // that run then
	}{
		{1000, first + 20, stall / 2, 50 * time.Millisecond, first},
		{1000, first + 20, stall / 2, 1050 * time.Millisecond, first + 10},
		{1000, first + 20, stall / 2, time.Minute, first + 20},
		{1000, first + 20, time.Hour, 9 * time.Second, first},
		{1000, 3, stall / 2, time.Minute, 3},
		{5, 100, stall / 2, time.Minute, 5},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			k := newClock()
			go func() {
				for pause(ctx, test.ticks) {
					k.now()
				}
			}()
			running := 0
			over := make(chan struct{})
			go func() {
				defer close(over)
				k.each(ctx, test.n, test.most, func(int) {
					k.mu.Lock()
					running++
					k.mu.Unlock()
					<-ctx.Done()
				})
			}()
			time.Sleep(test.at)
			k.mu.Lock()
			got := running
			k.mu.Unlock()
			if got != test.want {
				t.Errorf("%+v: %d run", test, got)
			}
			cancel()
			<-over
			if running != got {
				t.Errorf("%+v: %d have run", test, running)
			}
		})
	}
}

// A machine that stands still has fewer runs at once than before, when they are over.
func TestClock_EachFalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		k := newClock()
		ticking, stop := context.WithCancel(ctx)
		go k.run(ticking)
		first := perCore * runtime.GOMAXPROCS(0)
		running, most := 0, 0
		begun := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			stop()
			time.Sleep(10 * time.Second)
			k.mu.Lock()
			most = 0
			k.mu.Unlock()
			time.Sleep(10 * time.Second)
			cancel()
		}()
		k.each(ctx, 1<<30, first+40, func(int) {
			k.mu.Lock()
			running++
			most = max(most, running)
			k.mu.Unlock()
			time.Sleep(time.Second)
			k.mu.Lock()
			running--
			k.mu.Unlock()
		})
		k.mu.Lock()
		defer k.mu.Unlock()
		if most != first {
			t.Errorf("%d ran at once after %v, want %d", most, time.Since(begun), first)
		}
	})
}

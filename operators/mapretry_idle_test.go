package operators_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
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

// Whatever comes together - slow calls, slow hooks, a slow consumer, a source with gaps, signals, clocks of all sorts -
// no worker idles while an item is due and its result has a place, and the source is not kept waiting for nothing.
func TestMapRetry_NoWorkerIdlesWhileAnItemIsDue(t *testing.T) {
	runs, first := uint64(300), uint64(0)
	if testing.Short() {
		runs = 50
	}
	if *soak > 0 {
		runs, first = 1<<63, rand.Uint64()
	}
	for start, seed := time.Now(), first; seed-first < runs && !t.Failed() && (*soak == 0 || time.Since(start) < *soak); seed++ {
		synctest.Test(t, func(t *testing.T) {
			defer func() {
				if t.Failed() {
					t.Logf("with seed %d", seed)
				}
			}()
			idleRun(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

// idleRun makes one run. On a clock of its own, which runs by itself, everything happens at whole milliseconds of
// virtual time, and between them all is at rest: then it looks. On a clock that it moves itself it looks after a move.
func idleRun(t *testing.T, r *rand.Rand) {
	rare := func(n int) bool { return r.IntN(n) == 0 }
	n := 1 + r.IntN(60)
	o := options{Workers: 1 + r.IntN(6), MaxPending: 1 + r.IntN(20), Ordered: rare(2)}
	if rare(2) {
		o.MaxPending = 1000
	}
	f := &floor{t: t, o: o, slack: max(o.Workers, 4), now: time.Now, items: make([]floorItem, n)}

	var moved *handClock
	racing := false // it is moved at any moment, and an item may be late by as much
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	switch r.IntN(4) {
	case 0:
		ctx = stream.WithClock(ctx, new(countingClock))
	case 1:
		ctx = stream.WithClock(ctx, twiceClock{})
	case 2:
		moved = &handClock{at: time.Unix(0, 0)}
		racing = rare(2)
		f.now, f.early = moved.Now, racing
		ctx = stream.WithClock(ctx, moved)
	}

	// What is done is drawn beforehand: the calls are concurrent.
	type call struct {
		lasts, hook      time.Duration
		fails, fire, nap bool
	}
	scripts := make([][6]call, n)
	failing, lasting, hooking, firing := r.IntN(100), r.IntN(100), r.IntN(30), 0
	if rare(3) {
		firing = r.IntN(20)
	}
	for i := range scripts {
		for k := range scripts[i] {
			c := &scripts[i][k]
			c.fails, c.fire, c.nap = r.IntN(100) < failing, r.IntN(100) < firing, rare(3)
			if r.IntN(100) < lasting {
				c.lasts = time.Duration(r.IntN(1+r.IntN(40))) * ms
			}
			if r.IntN(100) < hooking {
				c.hook = time.Duration(r.IntN(10)) * ms
			}
		}
	}
	longest := 1 + r.IntN(20)
	signal := retry.NewSignal()
	p := retry.New(
		backoff.Func(func(_ int, u float64) time.Duration { return time.Duration(u*float64(longest)) * ms }),
		retry.OnRetry(func(_ context.Context, e retry.Event) {
			i := int(e.Err.(itemError))
			f.failed(i, e.Delay)
			time.Sleep(scripts[i][f.tries(i)%6].hook)
			f.set(i, itemWaiting)
		}),
		retry.OnGiveUp(func(_ context.Context, e *retry.Error) { f.finished(int(e.Last.(itemError))) }),
	)
	if firing > 0 {
		p = p.With(retry.ResetOn(signal))
		f.early = true
	}
	if rare(4) {
		p = p.With(retry.Limit(r.IntN(4)))
	}
	if rare(4) {
		p = p.With(retry.AttemptTimeout(time.Duration(1+r.IntN(30)) * ms))
	}
	gaps := make([]time.Duration, n)
	if rare(2) {
		for i := range gaps {
			gaps[i] = time.Duration(r.IntN(5)*r.IntN(5)) * ms
		}
	}
	src := stream.Stream[int](func(ctx context.Context, yield func(int) bool) error {
		for i, gap := range gaps {
			time.Sleep(gap)
			f.offered(i)
			if !yield(i) {
				return nil
			}
			f.accepted(i)
		}
		return nil
	})
	dawdle := make([]time.Duration, n)
	if rare(2) {
		for i := range dawdle {
			dawdle[i] = time.Duration(r.IntN(4)*r.IntN(4)) * ms
		}
	}
	o.DeadLetter = func(_ context.Context, i int, _ *retry.Error) error {
		f.delivered(i)
		time.Sleep(dawdle[i])
		return nil
	}

	done := make(chan struct{})
	go func() {
		defer close(done)
		err := operators.MapRetry(src, p, func(ctx context.Context, i int) (int, error) {
			c := scripts[i][f.called(i)%6]
			if c.nap {
				runtime.Gosched()
			}
			if c.lasts > 0 { // the race detector crashes in bubbles whose goroutines wait for nothing side by side
				select {
				case <-ctx.Done():
				case <-time.After(c.lasts):
				}
			}
			if c.fire && firing > 0 {
				f.fire(signal)
			}
			if c.fails && f.tries(i) < 30 {
				return 0, itemError(i)
			}
			f.finished(i)
			return i, nil
		}, o)(ctx, func(i int) bool {
			f.delivered(i)
			time.Sleep(dawdle[i])
			return true
		})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}()
	time.Sleep(ms / 2)
	for range 200_000 {
		if moved != nil {
			if !racing || rare(3) {
				synctest.Wait()
			}
			moved.add(time.Duration(r.IntN(3)) * ms)
		}
		if !racing {
			synctest.Wait()
			f.look()
		}
		select {
		case <-done:
			for i := range f.items {
				if f.items[i].state != itemDelivered {
					t.Errorf("item %d has not come out", i)
				}
			}
			return
		default:
		}
		if t.Failed() {
			break
		}
		time.Sleep(ms)
	}
	t.Error("the run does not end")
	cancel()
	<-done
}

// floor is what is known from outside of where the items of a run are.
type floor struct {
	t     *testing.T
	o     options
	slack int
	now   func() time.Time
	early bool // items may be called before they seem to be due

	mu    sync.Mutex
	items []floorItem
}

type floorItem struct {
	state       itemState
	tries       int
	failed, due time.Time
}

type itemState uint8

const (
	itemUnknown   itemState = iota
	itemOffered             // the source is in its yield with it
	itemFresh               // not called yet
	itemCalled              // its call, or the hook after it, goes on
	itemWaiting             // for its next call
	itemFinished            // it has a result, or was given up
	itemDelivered           // the consumer has it, or had it
)

func (f *floor) set(i int, s itemState) {
	f.mu.Lock()
	f.items[i].state = s
	f.mu.Unlock()
}

func (f *floor) offered(i int)   { f.set(i, itemOffered) }
func (f *floor) finished(i int)  { f.set(i, itemFinished) }
func (f *floor) delivered(i int) { f.set(i, itemDelivered) }

func (f *floor) accepted(i int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.items[i].state == itemOffered {
		f.items[i].state = itemFresh
	}
}

func (f *floor) tries(i int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.items[i].tries
}

// called returns how often the item was called before.
func (f *floor) called(i int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	item := &f.items[i]
	if now := f.now(); item.state == itemWaiting && now.Before(item.due) && !f.early {
		f.t.Errorf("item %d is called %v too early", i, item.due.Sub(now))
	}
	item.state = itemCalled
	item.tries++
	return item.tries - 1
}

func (f *floor) failed(i int, delay time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.items[i].failed = f.now()
	f.items[i].due = f.items[i].failed.Add(delay)
}

// fire fires: what failed before now is due. What fails at this very moment may have seen it or not.
func (f *floor) fire(s *retry.Signal) {
	s.Fire()
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.items {
		if item := &f.items[i]; item.failed.Before(f.now()) && item.due.After(f.now()) {
			item.due = f.now()
		}
	}
}

// look is called when all is at rest.
func (f *floor) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	var offered, fresh, calls, waiting, due, results, held int
	unfinished := false // an item before
	for i := range f.items {
		switch item := &f.items[i]; item.state {
		case itemOffered:
			offered++
		case itemFresh:
			fresh++
		case itemCalled:
			calls++
		case itemWaiting:
			waiting++
			if !item.due.After(f.now()) {
				due++
			}
		case itemFinished:
			if f.o.Ordered && unfinished {
				held++
			} else {
				results++
			}
			continue
		case itemDelivered:
			continue
		}
		unfinished = true
	}
	if due+fresh > 0 && calls < f.o.Workers && calls+results < f.slack {
		f.t.Errorf("%d items are due and %d not called yet, but %d of %d workers have nothing to do; %d results of %d",
			due, fresh, f.o.Workers-calls, f.o.Workers, results, f.slack)
	}
	if offered > 0 && fresh <= f.slack/2 && fresh+calls+waiting+held < f.o.MaxPending {
		f.t.Errorf("the source waits with %d items not called yet, %d calls, %d waiting and %d held back of %d",
			fresh, calls, waiting, held, f.o.MaxPending)
	}
}

// twiceClock is the system's clock, whose timers call back twice, stopped or not.
type twiceClock struct{}

func (twiceClock) Now() time.Time { return time.Now() }

func (twiceClock) AfterFunc(d time.Duration, f func()) stream.Stopper {
	time.AfterFunc(d+2*ms, f)
	return time.AfterFunc(d, f)
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

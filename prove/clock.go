package prove

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// ErrBusy: the machine stalled during more than half of a check. Its findings may be the machine's fault: check again
// on a quieter machine.
var ErrBusy = errors.New("the machine was too busy")

// clock is the time of a check. It stands still while the machine does nothing for the check: the program, which waits
// as well, is not to blame for that.
type clock struct {
	began    time.Time
	mu       sync.Mutex
	at, last time.Time
}

func newClock() *clock {
	now := time.Now()
	return &clock{began: now, at: now, last: now}
}

// stall is the longest time between two ticks of a clock that counts.
const stall = 20 * time.Millisecond

func (k *clock) now() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := time.Now()
	k.at = k.at.Add(min(now.Sub(k.last), stall))
	k.last = now
	return k.at
}

// stood returns for how long the clock has stood still.
func (k *clock) stood() time.Duration {
	k.now()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.last.Sub(k.began) - k.at.Sub(k.began)
}

// busy returns an error if the clock has stood still for more than half of the time.
func (k *clock) busy() error {
	stood, took := k.stood(), time.Since(k.began)
	if 2*stood <= took {
		return nil
	}
	return fmt.Errorf("prove: %w: it did nothing for the check in %v of %v, want at most half; this needs a quieter machine, or a lower Parallel",
		ErrBusy, stood.Round(time.Millisecond), took.Round(time.Millisecond))
}

// judge returns a check's error, or if the clock has stood still for too long that, and what else may be due to it.
func (k *clock) judge(err error, found int) error {
	busy := k.busy()
	switch {
	case busy == nil:
		return err
	case err != nil:
		return fmt.Errorf("%w; meanwhile %w", busy, err)
	case found > 0:
		return fmt.Errorf("%w; so does what was found: %s", busy, judge.Count(found, "finding"))
	}
	return busy
}

// run lets the clock tick until ctx ends.
func (k *clock) run(ctx context.Context) {
	for pause(ctx, stall/2) {
		k.now()
	}
}

// until waits until a condition holds, for d at most, and reports whether it does.
func (k *clock) until(d time.Duration, condition func() bool) bool {
	for begin := k.now(); !condition(); time.Sleep(2 * time.Millisecond) {
		if k.now().Sub(begin) > d {
			return condition()
		}
	}
	return true
}

// pause waits, and reports whether ctx has not ended.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return ctx.Err() == nil
}

// Runs at once begin with so many for each core. There is one more after each time of rising in which the clock did
// not stand still, and a quarter less after one in which it did.
const (
	perCore = 4
	rising  = 100 * time.Millisecond
)

// each calls f for each number below n, at most so many at once, until ctx ends.
func (k *clock) each(ctx context.Context, n, most int, f func(i int)) {
	first := min(most, perCore*runtime.GOMAXPROCS(0))
	room, running, stood := first, 0, k.stood()
	over := make(chan struct{})
	steps := time.NewTicker(rising)
	defer steps.Stop()
	for next := 0; ; {
		left := next < n && ctx.Err() == nil
		switch {
		case left && running < room:
			i := next
			next, running = next+1, running+1
			go func() {
				defer func() { over <- struct{}{} }()
				f(i)
			}()
			continue
		case !left && running == 0:
			return
		}
		select {
		case <-over:
			running--
		case <-steps.C:
			now := k.stood()
			room = min(most, room+1)
			if now > stood {
				room = max(first, room*3/4)
			}
			stood = now
		}
	}
}

package prove

import (
	"context"
	"fmt"
	"sync"
	"time"
)

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

// busy returns an error if the clock has stood still for more than half of the time.
func (k *clock) busy() error {
	ran, took := k.now().Sub(k.began), time.Since(k.began)
	if 2*ran >= took {
		return nil
	}
	return fmt.Errorf("prove: the machine was too busy: it did nothing for the check in %v of %v, want at most half: use a quieter one, or lower Parallel",
		(took - ran).Round(time.Millisecond), took.Round(time.Millisecond))
}

// run lets the clock tick until ctx ends.
func (k *clock) run(ctx context.Context) {
	for pause(ctx, stall/2) {
		k.now()
	}
}

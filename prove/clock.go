package prove

import (
	"context"
	"sync"
	"time"
)

// clock is the time of a check. It stands still while the machine does nothing for the check: the program, which waits as
// well, is not to blame for that.
type clock struct {
	mu       sync.Mutex
	at, last time.Time
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

// run lets the clock tick until ctx ends.
func (k *clock) run(ctx context.Context) {
	for pause(ctx, stall/2) {
		k.now()
	}
}

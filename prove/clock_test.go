package prove

import (
	"testing"
	"testing/synctest"
	"time"
)

// An hour in which nothing ticks is a stall; an hour of ticks is an hour.
func TestClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := clock{at: time.Now(), last: time.Now()}
		start := k.now()
		time.Sleep(time.Hour)
		if d := k.now().Sub(start); d != stall {
			t.Errorf("after a stall %v have passed, want %v", d, stall)
		}
		go k.run(t.Context())
		synctest.Wait()
		start = k.now()
		time.Sleep(time.Hour)
		if d := k.now().Sub(start); d != time.Hour {
			t.Errorf("%v have passed, want 1h", d)
		}
	})
}

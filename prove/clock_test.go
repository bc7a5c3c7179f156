package prove

import (
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
		want := "prove: the machine was too busy: it did nothing for the check in 59m59.98s of 1h0m0s, want at most half: use a quieter one, or lower Parallel"
		if err := k.busy(); err == nil || err.Error() != want {
			t.Errorf("after a stall: %v, want %s", err, want)
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
	})
}

package durable

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// Jobs that wait here become ready exactly when they are due.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(fakeQueue(t, new(server), Config{}).attempts, 9)
		began := time.Now()
		for _, ms := range []time.Duration{300, 100, 200, -1, 100, 0, 400} {
			d := &delivery{held: true, msg: noMsg{}, state: state{due: began.Add(ms * time.Millisecond)}}
			if !f.hold(d) {
				t.Fatal("it is refused")
			}
		}
		synctest.Wait()
		if len(f.pumps[0].ready) != 2 || len(f.waiting) != 5 {
			t.Errorf("%d are ready, %d wait, want 2, 5", len(f.pumps[0].ready), len(f.waiting))
		}
		var got []time.Duration
		for range 7 {
			d := f.take()
			if now := time.Now(); d.state.due.After(now) {
				t.Errorf("%v early", d.state.due.Sub(now))
			}
			got = append(got, time.Since(began)/time.Millisecond)
		}
		if !slices.Equal(got, []time.Duration{0, 0, 100, 100, 200, 300, 400}) {
			t.Errorf("ready after %v ms", got)
		}
		// And again, when none waits.
		f.hold(&delivery{held: true, msg: noMsg{}, state: state{due: time.Now().Add(time.Second)}})
		if f.take(); time.Since(began) != 1400*time.Millisecond {
			t.Errorf("the last one after %v", time.Since(began))
		}
	})
}

// A wait that is held here ends when it would have ended, however the clocks are set meanwhile, and after a second at
// the latest, if the due time is wrong.
func TestHold_ClocksAreSet(t *testing.T) {
	for _, skew := range []time.Duration{-time.Hour, -30 * time.Second, 30 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			q := fakeQueue(t, new(server), Config{})
			f := newFeed(q.attempts, 9)
			began := time.Now()
			for _, wait := range []time.Duration{900 * time.Millisecond, 300 * time.Millisecond, time.Hour} {
				f.hold(&delivery{held: true, msg: noMsg{}, state: state{due: q.now().Add(wait)}})
			}
			q.skew.Store(int64(skew))
			for _, want := range []time.Duration{300 * time.Millisecond, 900 * time.Millisecond, time.Second} {
				if f.take(); time.Since(began) != want {
					t.Errorf("the clock is set by %v: ready after %v, want %v", skew, time.Since(began), want)
				}
			}
		})
	}
}

// At most maxHeld jobs wait here, and none at the end.
func TestHold_NoRoom(t *testing.T) {
	for name, test := range map[string]struct {
		waiting int
		stopped bool
		want    bool
	}{
		"room for one": {waiting: maxHeld - 1, want: true},
		"no room":      {waiting: maxHeld},
		"at the end":   {stopped: true},
	} {
		f := newFeed(fakeQueue(t, new(server), Config{}).attempts, 1)
		due := time.Now().Add(time.Hour)
		for range test.waiting {
			f.waiting[new(delivery)] = struct{}{}
		}
		f.stopped = test.stopped
		if got := f.hold(&delivery{held: true, msg: noMsg{}, state: state{due: due}}); got != test.want || (len(f.waiting) > test.waiting) != test.want {
			t.Errorf("%s: hold is %t, %d wait, want %t", name, got, len(f.waiting), test.want)
		}
	}
}

package durable

import (
	"container/heap"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		name           string
		workers        int
		average        time.Duration
		running, ready int
		want           int
	}{
		{"nothing is known: none ahead", 8, -1, 0, 0, 8},
		{"nothing is known, and all are busy", 8, -1, 8, 0, 0},
		{"quick: much ahead", 8, time.Millisecond, 0, 0, 8 + 1024},
		{"quicker than the clock", 8, 0, 0, 0, 8 + 1024},
		{"quick, and more than half is ready", 8, time.Millisecond, 8, 600, 0},
		{"quick, and less than half is ready", 8, time.Millisecond, 8, 400, 8 + 1024 - 408},
		{"slow: none ahead", 8, time.Second, 0, 0, 8},
		{"slow: one for each worker that is free", 8, time.Minute, 7, 0, 1},
		{"slow, all are busy", 8, time.Minute, 8, 0, 0},
		{"slow, and too much is ready already", 8, time.Minute, 8, 100, 0},
		{"between", 8, 100 * time.Millisecond, 8, 0, 16},
	} {
		f := feed{workers: c.workers, average: c.average, running: c.running, pumps: [2]*pump{{}, {}}}
		for range c.ready {
			f.pumps[1].ready = append(f.pumps[1].ready, nil)
		}
		if got := f.wanted(f.pumps[1]); got != c.want {
			t.Errorf("%s: got %d, want %d", c.name, got, c.want)
		}
	}
}

// When the jobs fetched ahead have aheadBytes, only free workers get more.
func TestWanted_ManyBytes(t *testing.T) {
	for running, want := range map[int]int{0: 6, 5: 1, 6: 0, 8: 0} {
		full := &pump{ready: make([]*delivery, 2), bytes: aheadBytes}
		f := feed{workers: 8, average: time.Millisecond, running: running, pumps: [2]*pump{{}, full}}
		for _, p := range f.pumps {
			if got := f.wanted(p); got != want {
				t.Errorf("%d running, 2 ready: got %d, want %d", running, got, want)
			}
		}
	}
}

// The average rises at once, and falls by an eighth of the difference.
func TestRelease_Average(t *testing.T) {
	f := feed{average: -1, running: 4}
	f.room.L = &f.mu
	for i, c := range []struct{ lasted, want time.Duration }{{8 * time.Second, 8 * time.Second}, {0, 7 * time.Second}, {9 * time.Second, 9 * time.Second}} {
		if f.release(c.lasted); f.average != c.want || f.running != 3-i {
			t.Errorf("after %v: average %v, %d running, want %v, %d", c.lasted, f.average, f.running, c.want, 3-i)
		}
	}
}

// A delivery of a message at which this process is at work extends the lease, and is no second attempt.
func TestLeases_ASecondDelivery(t *testing.T) {
	var l leases
	now := time.Now()
	first := &delivery{seq: 7, until: now.Add(time.Second), busy: true}
	second := &delivery{seq: 7, until: now.Add(time.Minute)}
	if !l.add(first) || l.add(second) || first.until != second.until {
		t.Errorf("a second delivery is taken, or the lease ends %v after the first", first.until.Sub(now))
	}
	first.busy = false // it only waits for a worker: the newer delivery replaces it
	if !l.add(second) || l.remove(first) || !l.remove(second) {
		t.Error("a delivery that waits is not replaced")
	}
}

func TestWaitingIsInOrder(t *testing.T) {
	var w waiting
	now := time.Now()
	for range 1000 {
		heap.Push(&w, &delivery{state: state{due: now.Add(time.Duration(rand.N(500)))}})
	}
	for last := now; len(w) > 0; {
		d := heap.Pop(&w).(*delivery)
		if d.state.due.Before(last) {
			t.Fatalf("%v after %v", d.state.due, last)
		}
		last = d.state.due
	}
}

func TestIsOld(t *testing.T) {
	for version, want := range map[string]bool{"2.12.0": false, "2.15.2": false, "3.0.0": false, "2.12.0-RC.1": false,
		"2.11.9": true, "2.9.0": true, "1.99.0": true, "": false, "dev": false} {
		if got := isOld(version); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}

func TestDueRetriesGoFirstAndFreshJobsHaveAShare(t *testing.T) {
	f := feed{pumps: [2]*pump{{}, {}}}
	f.work.L = &f.mu
	for i := range 9 {
		f.push(&delivery{stage: first, msg: noMsg{}})
		if i%2 == 0 {
			f.push(&delivery{stage: again, msg: noMsg{}})
		} else {
			f.push(&delivery{stage: first, held: true, msg: noMsg{}}) // after a wait in this process
		}
	}
	var got []byte
	for d := f.next(); d != nil; d = f.next() {
		if d.held || d.stage == again {
			got = append(got, 'r')
		} else {
			got = append(got, 'f')
		}
	}
	if want := "rrrfrrrfrrrf" + "ffffff"; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestAGapMakesSuspect(t *testing.T) {
	now := time.Now()
	after := func(ms int) time.Time { return now.Add(time.Duration(ms) * time.Millisecond) }
	for name, beat := range map[string]func(*gaps, time.Time, time.Duration){"of the process": (*gaps).tick, "of the server": (*gaps).responded} {
		var g gaps
		g.heard = now
		beat(&g, now, time.Second)
		beat(&g, after(400), time.Second)
		old := &delivery{received: after(300)}
		if g.isSuspect(old, after(400), time.Second) {
			t.Errorf("%s: suspect without a gap", name)
		}
		beat(&g, after(901), time.Second)
		g.heard = after(901)
		if !g.isSuspect(old, after(901), time.Second) || !g.isSuspect(&delivery{received: after(1150)}, after(1200), time.Second) {
			t.Errorf("%s: not suspect after a gap", name)
		}
		if g.isSuspect(&delivery{received: after(1151)}, after(1200), time.Second) {
			t.Errorf("%s: suspect though received later", name)
		}
		if late := after(1402); !g.isSuspect(&delivery{received: after(1151)}, late, time.Second) {
			t.Errorf("%s: not suspect though the server has not responded for half a lease", name)
		}
	}
}

// noMsg is a message without data.
type noMsg struct{ jetstream.Msg }

func (noMsg) Data() []byte { return nil }

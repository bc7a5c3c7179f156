package durable

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestWanted(t *testing.T) {
	for _, c := range []struct {
		name           string
		workers        int
		average        time.Duration
		running, ready int
		want           int
		other          int // ready in the other pump
	}{
		{name: "nothing is known: none ahead", workers: 8, average: -1, want: 8},
		{name: "nothing is known, and all are busy", workers: 8, average: -1, running: 8, want: 0},
		{name: "quick: much ahead", workers: 8, average: time.Millisecond, want: 8 + 1024},
		{name: "quicker than the clock", workers: 8, average: 0, want: 8 + 1024},
		{name: "quick, and more than half is ready", workers: 8, average: time.Millisecond, running: 8, ready: 600, want: 0},
		{name: "quick, and less than half is ready", workers: 8, average: time.Millisecond, running: 8, ready: 400, want: 8 + 1024 - 408},
		{name: "slow: none ahead", workers: 8, average: time.Second, want: 8},
		{name: "slow: one for each worker that is free", workers: 8, average: time.Minute, running: 7, want: 1},
		{name: "slow, all are busy", workers: 8, average: time.Minute, running: 8, want: 0},
		{name: "slow, and too much is ready already", workers: 8, average: time.Minute, running: 8, ready: 100, want: 0},
		{name: "between", workers: 8, average: 100 * time.Millisecond, running: 8, want: 16},
		{name: "exactly half is ready", workers: 8, average: time.Millisecond, running: 8, ready: 508, want: 516},
		{name: "one more is ready", workers: 8, average: time.Millisecond, running: 8, ready: 509, want: 0},
		{name: "half of the workers have a job in the other pump", workers: 8, average: time.Minute, other: 4, want: 4},
		{name: "what is ready for the busy ones does not count", workers: 8, average: time.Millisecond, running: 7, other: 4, want: 8 + 1024 - 7 - 1},
	} {
		f := feed{workers: c.workers, average: c.average, running: c.running, pumps: [2]*pump{{}, {}}}
		for range c.ready {
			f.pumps[1].ready = append(f.pumps[1].ready, nil)
		}
		f.pumps[0].ready = make([]*delivery, c.other)
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
	for i, c := range []struct{ lasted, want time.Duration }{{8 * time.Second, 8 * time.Second}, {4 * time.Second, 7500 * time.Millisecond}, {9 * time.Second, 9 * time.Second}} {
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

func TestIsOld(t *testing.T) {
	for version, want := range map[string]bool{"2.14.0": true, "2.14.16": true, "2.15.0": false, "2.15.2": false, "2.16.0": false, "3.0.0": false, "2.14.0-RC.1": true, "2.15.0-RC.1": false, "2.14": true, "2.15": false,
		"2.9.0": true, "1.99.0": true, "": false, "dev": false, "2": false, "x.11": false, "2.x": false, "1.x": false, "2.": false, "1.13": true} {
		if got := isOld(version); got != want {
			t.Errorf("%q: got %v, want %v", version, got, want)
		}
	}
}

// Due retries go first, and fresh jobs have a share. A fresh job has its share also if it is the only one. Due retries
// do not wait for fresh jobs.
func TestDueRetriesAndFewFreshJobs(t *testing.T) {
	for fresh, want := range map[int]string{0: "rrrrrrrrr", 1: "rrrfrrrrrr", 2: "rrrfrrrfrrr", 9: "rrrfrrrfrrrfffffff"} {
		f := newFeed(fakeQueue(t, new(server), Config{}).attempts, 1)
		for range fresh {
			f.push(&delivery{stage: first, msg: noMsg{}})
		}
		for i := range 9 {
			held := i%2 > 0 // after a wait in this process
			f.push(&delivery{stage: map[bool]stage{true: first, false: again}[held], held: held, msg: noMsg{}})
		}
		var got []byte
		for d := f.next(); d != nil; d = f.next() {
			got = append(got, map[bool]byte{true: 'r', false: 'f'}[d.held || d.stage == again])
		}
		if string(got) != want {
			t.Errorf("%d fresh jobs: got %s, want %s", fresh, got, want)
		}
	}
}

// noMsg is a message without data.
type noMsg struct{ jetstream.Msg }

func (noMsg) Data() []byte { return nil }

// The bytes of the ready jobs are counted.
func TestReadyJobs(t *testing.T) {
	p := new(pump)
	var all []*delivery
	for i, data := range []string{"abc", "defgh", "", "i"} {
		d := &delivery{seq: uint64(i), msg: &fakeMsg{data: []byte(data)}}
		all = append(all, d)
		p.push(d)
	}
	for i, bytes := range []int{6, 1} {
		if got := p.pop(); got != all[i] || p.bytes != bytes {
			t.Errorf("job %d: got %d, and %d bytes remain, want %d", i, got.seq, p.bytes, bytes)
		}
	}
	if got := p.takeAll(); !slices.Equal(got, all[2:]) || p.bytes != 0 || len(p.takeAll()) != 0 {
		t.Errorf("got %d jobs, and %d bytes remain", len(got), p.bytes)
	}
}

// close ends all that waits for a job or for room, at once. Outcomes can be stored for settleTime after it.
func TestFeedClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		f := newFeed(fakeQueue(t, s, Config{}).attempts, 2)
		f.running = 2
		ended := make(chan bool, 4)
		for range 2 {
			go func() { ended <- f.take() == nil }()
		}
		for _, p := range f.pumps {
			go func() { ended <- p.waitForRoom() == 0 }()
		}
		synctest.Wait()
		if len(ended) != 0 || f.err() != nil {
			t.Errorf("%d have ended before", len(ended))
		}
		cause := errors.New("cause")
		f.close(cause)
		f.close(errors.New("later"))
		synctest.Wait()
		if len(ended) != 4 || f.err() != cause {
			t.Errorf("%d have ended, want 4, with %v", len(ended), f.err())
		}
		for range len(ended) {
			if !<-ended {
				t.Error("a job or room after the end")
			}
		}
		<-f.stopping
		began := time.Now()
		<-f.ctx.Done()
		if got := time.Since(began); got != 15*time.Second {
			t.Errorf("outcomes can be stored for %v, want 15s", got)
		}
	})
}

// The context for outcomes ends with the queue.
func TestFeed_ItsQueueIsClosed(t *testing.T) {
	q := fakeQueue(t, new(server), Config{})
	f := newFeed(q.attempts, 1)
	if f.ctx.Err() != nil {
		t.Error("it has ended before")
	}
	q.cancel(ErrClosed)
	<-f.ctx.Done()
}

// run requests due retries and fresh jobs.
func TestFeedRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{})
		addConsumers(q, s)
		f := newFeed(q.attempts, 1)
		ended := make(chan struct{})
		go func() { f.run(); close(ended) }()
		for _, want := range []string{"consume again consume first", "drain again drain first"} {
			synctest.Wait()
			got := strings.Split(s.took(), "; ")
			slices.Sort(got)
			if strings.Join(got, " ") != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if f.err() == nil {
				select {
				case <-ended:
					t.Error("it has ended before the feed")
				default:
				}
			}
			f.close(errors.New("the end"))
		}
		<-ended
	})
}

// take waits for a job. When all workers have one and none is to be fetched ahead, the requests end.
func TestTake(t *testing.T) {
	for average, paused := range map[time.Duration][2]int{-1: {0, 1}, time.Second: {0, 1}, time.Millisecond: {0, 0}} {
		synctest.Test(t, func(t *testing.T) {
			f := newFeed(fakeQueue(t, new(server), Config{}).attempts, 2)
			f.average = average
			got := make(chan *delivery, 2)
			for range 2 {
				go func() { got <- f.take() }()
			}
			for i := range 2 {
				synctest.Wait()
				if len(got) != i || f.running != i {
					t.Errorf("%d jobs were taken, %d run, want %d", len(got), f.running, i)
				}
				f.mu.Lock()
				f.push(&delivery{msg: noMsg{}})
				f.mu.Unlock()
				synctest.Wait()
				for _, p := range f.pumps {
					if len(p.enough) != paused[i] {
						t.Errorf("average %v, %d workers are busy: paused %d, want %d", average, i+1, len(p.enough), paused[i])
					}
				}
			}
			f.close(nil)
		})
	}
}

// A worker that is free makes room for both pumps.
func TestRelease_MakesRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed(fakeQueue(t, new(server), Config{}).attempts, 1)
		f.running = 1
		room := make(chan int, 2)
		for _, p := range f.pumps {
			go func() { room <- p.waitForRoom() }()
		}
		synctest.Wait()
		if len(room) != 0 {
			t.Error("there is room while all are busy")
		}
		f.release(time.Second)
		if a, b := <-room, <-room; a != 1 || b != 1 {
			t.Errorf("room for %d and %d, want 1 each", a, b)
		}
	})
}

// Jobs are idle when all workers are busy, and one job has been ready since before the given time.
func TestHasIdle(t *testing.T) {
	now := time.Now()
	at := func(d time.Duration) *delivery { return &delivery{received: now.Add(d), msg: noMsg{}} }
	held := func(d time.Duration) *delivery {
		return &delivery{held: true, received: now.Add(-time.Hour), ready: now.Add(d), msg: noMsg{}}
	}
	for name, test := range map[string]struct {
		due, fresh []*delivery
		free       bool
		stopped    bool
		average    time.Duration
		want       bool
		raised     time.Duration
	}{
		"none is ready":             {},
		"a fresh one":               {fresh: []*delivery{at(0), at(-1)}, want: true, raised: time.Second},
		"a fresh one just came":     {fresh: []*delivery{at(0)}},
		"a due retry":               {due: []*delivery{at(-1)}, want: true, raised: time.Second},
		"one that was held is due":  {due: []*delivery{held(-1)}, want: true, raised: time.Second},
		"one that was held, now":    {due: []*delivery{held(0)}},
		"a worker is free":          {fresh: []*delivery{at(-1)}, free: true},
		"at the end":                {fresh: []*delivery{at(-1)}, stopped: true},
		"attempts took long":        {fresh: []*delivery{at(-1)}, average: 3 * time.Second, want: true, raised: 3 * time.Second},
		"attempts took long, a few": {fresh: []*delivery{at(0)}, average: time.Millisecond, raised: time.Millisecond},
	} {
		f := feed{workers: 2, running: 2, average: test.average, stopped: test.stopped, pumps: [2]*pump{{ready: test.due}, {ready: test.fresh}}}
		if test.free {
			f.running = 1
		}
		if got := f.hasIdle(now); got != test.want || f.average != test.raised {
			t.Errorf("%s: got %t, average %v, want %t, %v", name, got, f.average, test.want, test.raised)
		}
		f.err() // its mutex is free again
	}
}

// All requests end first, then all jobs that are ready are handed back, except at the end.
func TestHandBackIdle(t *testing.T) {
	for stopped, want := range map[bool]string{false: "drain again; drain first; nak; nak; nak", true: "drain again; drain first"} {
		s, q := fake(t, Config{})
		addConsumers(q, s)
		f := newFeed(q.attempts, 1)
		for _, p := range f.pumps {
			p.consuming, _ = p.consumer.Consume(nil)
		}
		for i, st := range []stage{first, again, first} {
			f.receive(job(q.backend, s, "x", st, uint64(i+1), nil))
		}
		s.took()
		f.stopped = stopped
		f.handBackIdle(time.Now())
		if got := s.took(); got != want {
			t.Errorf("stopped %t: it did %q, want %q", stopped, got, want)
		}
		for _, p := range f.pumps {
			if (len(p.ready) > 0) != stopped {
				t.Errorf("stopped %t: %d are ready", stopped, len(p.ready))
			}
		}
		f.err() // its mutex is free again
	}
}

// A job may wait for a worker for idleTime. Only the feed whose workers are all busy hands its jobs back.
func TestHandBackIdle_After(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{})
		for i := range 2 {
			f := newFeed(q.attempts, 1)
			f.running = i
			q.join(f)
			f.receive(job(q.backend, s, "x", first, uint64(i), nil))
		}
		for _, c := range []struct {
			after time.Duration
			want  string
		}{{idleTime, ""}, {1, "nak"}, {time.Second, ""}} {
			time.Sleep(c.after)
			q.handBackIdle(time.Now())
			q.tasks.Wait()
			s.did(t, c.want)
		}
	})
}

// At the end, what is ready is handed back, and what waits here is scheduled, 16 at a time.
func TestFinish(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{publish: func(*nats.Msg) error { time.Sleep(time.Second); return nil }}
		q := fakeQueue(t, s, Config{})
		f := newFeed(q.attempts, 1)
		due := time.Now().Add(10 * time.Second)
		for i := range 33 {
			d := &delivery{id: "x", seq: uint64(i), deliveries: 1, held: true, feed: f, msg: &fakeMsg{s: s}, state: state{due: due}}
			s.delivers(d.seq, "", func() time.Time { return d.put })
			q.leases.add(d)
			f.hold(d)
		}
		for i, st := range []stage{first, again, first} {
			f.receive(job(q.backend, s, "x", st, uint64(i+40), nil))
		}
		began := time.Now()
		f.finish()
		if got := time.Since(began); got != 3*time.Second {
			t.Errorf("it took %v, want 3s", got)
		}
		did := s.took()
		if a, b, c := strings.Count(did, "put later"), strings.Count(did, "; ack")+strings.Count(did, "double ack"), strings.Count(did, "nak"); a != 33 || b != 33 || c != 3 {
			t.Errorf("%d were scheduled, %d acknowledged, %d handed back, want 33, 33, 3", a, b, c)
		}
		if h := s.lastSent().Header; get(h, headerDue) != formatTime(due) {
			t.Errorf("scheduled for %s, want %s", get(h, headerDue), formatTime(due))
		}
		f.finish()
		if got := s.took(); got != "" {
			t.Errorf("the second time it did %q", got)
		}
		f.close(nil)
	})
}

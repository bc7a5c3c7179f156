package durable

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// The leases are extended when the server has responded, from the time at which that began.
func TestExtendLeases(t *testing.T) {
	for name, test := range map[string]struct {
		failed   error // of the message
		offline  bool
		did      string
		extended bool
	}{
		"in time":                {did: "in progress; in progress", extended: true},
		"one is settled already": {failed: jetstream.ErrMsgAlreadyAckd, did: "in progress; in progress", extended: true},
		"a request fails":        {failed: nats.ErrConnectionClosed, did: "in progress; in progress; log: leases could not be extended"},
		"the buffer is full":     {failed: nats.ErrReconnectBufExceeded, did: "in progress"},
		"there is no connection": {offline: true, did: "in progress; in progress"},
	} {
		t.Run(name, func(t *testing.T) {
			const lease = 20 * time.Second
			s, q := fake(t, Config{Lease: lease})
			if !test.offline {
				q.nc = connected(t, s)
			}
			earlier := time.Now().Add(lease / 2)
			a := deliver(q, s, first, func(d *delivery) { d.until = earlier })
			b := deliver(q, s, first, func(d *delivery) { d.seq, d.until = 8, earlier })
			late := deliver(q, s, first, func(d *delivery) { d.seq, d.until, d.received = 9, earlier, time.Now().Add(time.Minute) })
			a.msg.(*fakeMsg).err, b.msg.(*fakeMsg).err = test.failed, test.failed
			q.gaps.heard = time.Time{}
			before := time.Now()
			q.extendLeases()
			after := time.Now()
			defer q.extendLeases() // nothing is left locked
			for _, d := range []*delivery{a, b} {
				extended := !d.until.Before(before.Add(lease)) && !d.until.After(after.Add(lease))
				if extended != test.extended || !extended && !d.until.Equal(earlier) {
					t.Errorf("the lease ends %v after the start of the extension", d.until.Sub(before))
				}
			}
			if !late.until.Equal(earlier) {
				t.Error("the lease of a job that came later was extended")
			}
			s.did(t, test.did)
			if heard := !q.gaps.heard.Before(before); heard != test.extended {
				t.Errorf("the server has responded: %t", heard)
			}
		})
	}
}

// An extension that waits for the server ends with the queue: Close waits for it.
func TestExtendLeases_TheQueueIsClosed(t *testing.T) {
	s, q := fakeOnline(t, Config{Lease: time.Minute})
	s.silent.Store(true)
	before := s.pinged.Load()
	q.tasks.Go(q.extendLeases)
	for s.pinged.Load() == before {
		time.Sleep(time.Millisecond)
	}
	began := time.Now()
	q.cancel(ErrClosed)
	if q.tasks.Wait(); time.Since(began) > 10*time.Second {
		t.Errorf("it ends after %v", time.Since(began))
	}
}

// A lease that may have run out is not extended.
func TestLeases_Extend(t *testing.T) {
	var l leases
	now := time.Now()
	in, at, out := &delivery{until: now.Add(1)}, &delivery{until: now}, &delivery{until: now.Add(-1)}
	l.extend([]*delivery{in, at, out}, now, now.Add(time.Hour))
	if !in.until.Equal(now.Add(time.Hour)) || !at.until.Equal(now) || !out.until.Equal(now.Add(-1)) {
		t.Errorf("extended to %v, %v, %v", in.until, at.until, out.until)
	}
}

// An attempt begins only in its lease, and if the delivery is the queue's.
func TestLeases_Begin(t *testing.T) {
	now := time.Now()
	var l leases
	d := &delivery{seq: 7, until: now.Add(1)}
	if l.begin(d, now) || d.busy {
		t.Error("a delivery that was removed begins")
	}
	l.add(d)
	if l.begin(d, now.Add(1)) || d.busy || l.alive(d, now.Add(1)) {
		t.Error("a delivery begins at the end of its lease")
	}
	if !l.alive(d, now) || !l.begin(d, now) || !d.busy {
		t.Error("a delivery does not begin in its lease")
	}
}

// A process that does not run, or a server that does not respond, for more than half a lease makes what it has suspect.
func TestGaps(t *testing.T) {
	const lease = 20 * time.Second
	start := time.Now()
	for name, test := range map[string]struct {
		ran, heard time.Duration // when the process ran and the server responded
		suspect    bool
	}{
		"both in time":                  {10 * time.Second, 10 * time.Second, false},
		"the process did not run":       {10*time.Second + 1, 10 * time.Second, true},
		"the server did not respond":    {10 * time.Second, 10*time.Second + 1, true},
		"time that goes back is no gap": {-time.Hour, 10 * time.Second, false},
	} {
		var g gaps
		g.tick(start, lease)
		g.responded(start, lease)
		g.tick(start.Add(test.ran), lease)
		g.responded(start.Add(test.heard), lease)
		now := start.Add(10*time.Second + 2)
		if got := g.isSuspect(&delivery{received: now}, now, lease); got != test.suspect {
			t.Errorf("%s: suspect %t", name, got)
		}
		if later := start.Add(test.heard).Add(time.Second + 2); test.suspect && g.isSuspect(&delivery{received: later}, later, lease) {
			t.Errorf("%s: what comes a second after it is suspect", name)
		}
	}
	var g gaps
	g.tick(start, lease)
	g.responded(start, lease)
	if at := start.Add(10 * time.Second); g.isSuspect(&delivery{received: at}, at, lease) || !g.isSuspect(&delivery{received: at}, at.Add(1), lease) {
		t.Error("half a lease without a response is the limit")
	}
	// What came before a new connection, or within a second of it, is suspect, once for each connection.
	for i := range 2 {
		g.connected(1, start.Add(time.Duration(i)*time.Second), lease)
	}
	for after, want := range map[time.Duration]bool{-time.Second: true, time.Second - 1: true, time.Second: false} {
		if at := start.Add(after); g.isSuspect(&delivery{received: at}, at, lease) != want {
			t.Errorf("%v after a new connection: suspect %t", after, !want)
		}
	}
	// With a short lease, it is what came within a quarter of it.
	const short, quarter = time.Second, time.Second / 4
	g.responded(start.Add(2*time.Second), short)
	g.connected(2, start.Add(2*time.Second), short)
	for after, want := range map[time.Duration]bool{quarter - 1: true, quarter: false} {
		if at := start.Add(2*time.Second + after); g.isSuspect(&delivery{received: at}, at, short) != want {
			t.Errorf("%v after a new connection, with a short lease: suspect %t", after, !want)
		}
	}
}

// What was delivered cannot be acknowledged: the delivery is dropped, and comes once more.
func TestDrop(t *testing.T) {
	s, q := fake(t, Config{})
	d := deliver(q, s, first, nil)
	d.msg.(*fakeMsg).err = errors.New("no")
	q.drop(t.Context(), d, true)
	q.drop(t.Context(), d, true)
	s.did(t, "ack; log: a delivery could not be acknowledged")
}

// A queue that has nothing to do for longer than half a lease sees no gap, and extends its leases four times per lease.
func TestKeepLeases_AQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{Lease: 4 * time.Second})
		deliver(q, s, first, func(d *delivery) { d.busy = true })
		q.tasks.Go(q.keepLeases)
		time.Sleep(3100 * time.Millisecond)
		if got := s.took(); got != "info of first; in progress; info of first; in progress; info of first; in progress" {
			t.Errorf("in 3.1s it did %q, want an extension each second", got)
		}
		if q.gaps.tick(time.Now(), q.config.Lease); !q.gaps.suspect.IsZero() {
			t.Error("the quiet time is taken for a gap")
		}
		q.cancel(ErrClosed)
		q.tasks.Wait()
	})
}

// The clock of the server counts if it differs by more than a request can take. A difference of more than a lease is
// logged once.
func TestCompareClocks(t *testing.T) {
	const warning = "log: the clocks of this machine and of the server differ by more than a lease: synchronize them"
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{Lease: 20 * time.Second})
		for _, test := range []struct {
			server, took, want time.Duration
			did                string
		}{
			{0, 0, 0, ""},
			{999 * time.Millisecond, 0, 0, ""},
			{-time.Second, 0, -time.Second, ""},
			{time.Second, 400 * time.Millisecond, 0, ""}, // half of the request's time is not the clock's
			{20 * time.Second, 0, 20 * time.Second, ""},
			{21 * time.Second, 0, 21 * time.Second, warning},
			{22 * time.Second, 0, 22 * time.Second, ""},
			{-21 * time.Second, 0, -21 * time.Second, ""},
			{time.Hour, 1001 * time.Millisecond, -21 * time.Second, ""}, // it took too long to say anything
			{0, 0, 0, ""},
			{-21 * time.Second, 0, -21 * time.Second, warning},
		} {
			now := time.Now()
			q.compareClocks(now, now.Add(test.took), now.Add(test.server))
			if got := q.now().Sub(now); got != test.want || q.until(now) != -test.want || s.took() != test.did {
				t.Errorf("%+v: the server is %v ahead, want %v", test, got, test.want)
			}
		}
		q.compareClocks(time.Now(), time.Now(), time.Time{})
		if q.skew.Load() != int64(-21*time.Second) {
			t.Error("a response without a time counts")
		}
	})
}

// The machine's clock was set if it has gone more or less than the monotonic one, since the last time.
func TestWasSet(t *testing.T) {
	var c clock
	for _, test := range []struct {
		all  time.Duration
		want bool
	}{{0, false}, {999 * time.Millisecond, false}, {time.Second, true}, {time.Second, false}, {1, false}, {0, true}, {-30 * time.Second, true}, {-30 * time.Second, false}} {
		if got := c.wasSet(test.all); got != test.want {
			t.Errorf("%v more: %t, want %t", test.all, got, test.want)
		}
	}
}

// A worker whose clock is ahead stores a retry by the server's clock, and does not give up early.
func TestFail_AClockThatIsAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{Policy: retry.New(backoff.Constant(5*time.Second).Jitter(jitter.None), retry.Within(10*time.Second))})
		_, fresh := addConsumers(q, s)
		server := time.Now().Add(-20 * time.Second)
		fresh.now.TimeStamp = server
		q.readLease()
		d := deliver(q, s, first, func(d *delivery) { d.state.retry = failures(1, server) })
		must(t, q.newJob(d).Fail(errNo))
		if got := s.took(); got != "info of first; put later; ack" || !readState(s.lastSent().Header).due.Equal(server.Add(5*time.Second)) {
			t.Errorf("it did %q, due %v", got, readState(s.lastSent().Header).due)
		}
	})
}

// A closed connection begins no attempt.
func TestCheck_TheConnectionIsClosed(t *testing.T) {
	for _, held := range []bool{false, true} {
		s := &server{publish: func(*nats.Msg) error { return nats.ErrConnectionClosed }}
		q := fakeQueue(t, s, Config{})
		nc := connected(t, s)
		nc.Close()
		q.nc = nc
		d := deliver(q, s, first, func(d *delivery) { d.held, d.looked = held, held })
		if got := q.check(t.Context(), d, false); got != skip {
			t.Errorf("held %t: the verdict is %v; it did %q", held, got, s.took())
		}
	}
}

// A claim without a response until ctx has ended, or Work has returned, begins no attempt.
func TestWork_TheClaimOutlastsTheEnd(t *testing.T) {
	for _, back := range []time.Duration{12 * time.Second, 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			s, q := fakeWork(t, Config{})
			end := time.Now().Add(back)
			s.publish = func(*nats.Msg) error {
				if time.Now().Before(end) {
					return nats.ErrTimeout
				}
				return nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			q.gaps.suspect = time.Now().Add(time.Hour)
			called := time.Time{}
			ended := workAsync(ctx, q, 1, func(context.Context, *Job) error { called = time.Now(); return nil })
			time.Sleep(time.Second)
			cancel()
			began := time.Now()
			must(t, <-ended)
			time.Sleep(time.Minute)
			if !called.IsZero() {
				t.Errorf("an attempt began %v after the end of ctx", called.Sub(began))
			}
		})
	}
}

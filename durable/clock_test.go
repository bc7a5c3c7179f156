package durable

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// The clock of the server counts if it differs by more than a request can take. A difference of more than a lease is
// logged once.
func TestCompareClocks(t *testing.T) {
	const warning = "log: the clocks of this machine and of the server differ by more than a lease: synchronize them"
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		q := fakeQueue(t, s, Config{Lease: 20 * time.Second})
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
		s := new(server)
		q := fakeQueue(t, s, Config{Policy: retry.New(backoff.Constant(5*time.Second).Jitter(jitter.None), retry.Within(10*time.Second))})
		_, fresh := addConsumers(q, s)
		server := time.Now().Add(-20 * time.Second)
		fresh.now.TimeStamp = server
		q.readLease()
		d := deliver(q, s, first, func(d *delivery) { d.state.retry = failures(1, server) })
		if err := q.newJob(d).Fail(errNo); err != nil {
			t.Error(err)
		}
		if got := s.took(); got != "info of first; put later; ack" || !readState(s.lastSent().Header).due.Equal(server.Add(5*time.Second)) {
			t.Errorf("it did %q, due %v", got, readState(s.lastSent().Header).due)
		}
	})
}

// A kind that has no handler is handed back for a moment, and logged once a minute.
func TestUnknownKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		q := fakeQueue(t, s, Config{})
		const line = "log: a job's kind has no handler here, such jobs are handed back; "
		for _, test := range []struct {
			kind       string
			deliveries uint64
			want       string
			after      time.Duration
		}{
			{"a", 1, line + "nak in 100ms", 0}, {"a", 2, "nak in 200ms", 0}, {"b", 3, line + "nak in 300ms", 59 * time.Second}, {"a", 4, "nak in 300ms", time.Second}, {"a", 900, line + "nak in 300ms", 0},
		} {
			d := deliver(q, s, first, func(d *delivery) { d.state.kind, d.deliveries = test.kind, test.deliveries })
			q.unknownKind(t.Context(), d)
			if got := s.took(); got != test.want {
				t.Errorf("%+v: it did %q", test, got)
			}
			time.Sleep(test.after)
		}
	})
}

package durable

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// A held job that was cancelled in a gap, or before a new connection, is claimed before the attempt.
func TestCheck_HeldAfterAGap(t *testing.T) {
	s := &server{publish: func(*nats.Msg) error { return refused }}
	q := fakeQueue(t, s, Config{})
	s.stored = []*jetstream.RawStreamMsg{message(q, mark, 9, nats.Header{headerDone: {"1"}})}
	d := deliver(q, s, first, func(d *delivery) { d.held, d.looked = true, true })
	q.gaps.suspect = time.Now().Add(time.Second)
	if got := q.check(t.Context(), d, false); got != skip {
		t.Errorf("the verdict is %v; it did %q", got, s.took())
	}
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
			if err := <-ended; err != nil {
				t.Error(err)
			}
			time.Sleep(time.Minute)
			if !called.IsZero() {
				t.Errorf("an attempt began %v after the end of ctx", called.Sub(began))
			}
		})
	}
}

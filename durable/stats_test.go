package durable

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"
)

// What Stats counts, in which order, and what it returns when a request fails.
func TestStats(t *testing.T) {
	const (
		all  = "consumer count-later; info of again; info of first; consumer count-later; consumer count-dead"
		none = "consumer count-later; get 1 later; info of again; get 42 again; info of first; get 1 first; consumer count-later; get 1 later; consumer count-dead; get 1 dead"
	)
	no := errors.New("no")
	for name, test := range map[string]struct {
		change func(s *server, due, fresh *fakeConsumer)
		fails  string
		want   Stats
		did    string
	}{
		"jobs everywhere": {want: Stats{Ready: 3 + 11, Running: 5 + 13, Later: 17, Dead: 19}, did: all},
		"ready ones are not looked for while some run": {change: func(_ *server, due, _ *fakeConsumer) { due.now.NumPending = 0 },
			want: Stats{Ready: 11, Running: 5 + 13, Later: 17, Dead: 19}, did: all},
		"nor while some are ready": {change: func(_ *server, due, _ *fakeConsumer) { due.now.NumAckPending = 0 },
			want: Stats{Ready: 3 + 11, Running: 13, Later: 17, Dead: 19}, did: all},
		"as many ready as running": {change: func(_ *server, due, _ *fakeConsumer) { due.now.NumPending = 5 },
			want: Stats{Ready: 5 + 11, Running: 5 + 13, Later: 17, Dead: 19}, did: all},
		"one of each": {change: func(s *server, due, fresh *fakeConsumer) {
			due.now, fresh.now = jetstream.ConsumerInfo{NumPending: 1}, jetstream.ConsumerInfo{NumAckPending: 1}
			s.pending = map[string]uint64{"count-later": 1, "count-dead": 1}
		}, want: Stats{1, 1, 1, 1}, did: all},
		"none is counted, and there is none": {change: func(s *server, due, fresh *fakeConsumer) {
			due.now, fresh.now = jetstream.ConsumerInfo{}, jetstream.ConsumerInfo{}
			due.now.AckFloor.Stream = 41
			s.pending = map[string]uint64{"count-later": 0, "count-dead": 0}
		}, did: none},
		"none is counted, but there are some": {change: func(s *server, due, fresh *fakeConsumer) {
			q := newQueue(Config{Name: "q"}, nil)
			due.now, fresh.now = jetstream.ConsumerInfo{}, jetstream.ConsumerInfo{}
			due.now.AckFloor.Stream = 41
			s.pending = map[string]uint64{"count-later": 0, "count-dead": 0}
			s.stored = []*jetstream.RawStreamMsg{message(q, again, 41, nil), message(q, later, 42, nil), message(q, first, 43, nil), message(q, first, 44, nil), message(q, dead, 45, nil)}
		}, want: Stats{Ready: 1, Later: 1, Dead: 1}, did: none},
		"nothing counts yet": {change: func(s *server, _, _ *fakeConsumer) { s.pending = nil }, want: Stats{Ready: 3 + 11, Running: 5 + 13, Later: 3, Dead: 3},
			did: "consumer count-later; create count-later of retrywhen.q.job.*.later; info of count-later; info of again; info of first; " +
				"consumer count-later; create count-later of retrywhen.q.job.*.later; info of count-later; consumer count-dead; create count-dead of retrywhen.q.job.*.dead; info of count-dead"},
		"the later ones fail":         {fails: "consumer count-later", did: "consumer count-later"},
		"the due retries fail":        {fails: "info of again", did: "consumer count-later; info of again"},
		"the fresh jobs fail":         {fails: "info of first", did: "consumer count-later; info of again; info of first"},
		"the dead ones fail":          {fails: "consumer count-dead", did: all},
		"a consumer cannot be made":   {fails: "create count-dead of retrywhen.q.job.*.dead", change: noCount, did: all + "; create count-dead of retrywhen.q.job.*.dead"},
		"a new consumer has no count": {fails: "info of count-dead", change: noCount, did: all + "; create count-dead of retrywhen.q.job.*.dead; info of count-dead"},
		"the ready ones cannot be read": {fails: "get 1 first", change: func(_ *server, _, fresh *fakeConsumer) { fresh.now = jetstream.ConsumerInfo{} },
			did: "consumer count-later; info of again; info of first; get 1 first"},
		"the dead ones cannot be read": {fails: "get 1 dead", change: func(s *server, _, _ *fakeConsumer) { s.pending["count-dead"] = 0 }, did: all + "; get 1 dead"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{pending: map[string]uint64{"count-later": 17, "count-dead": 19}, fails: map[string]error{test.fails: no}}
			q := fakeQueue(t, s, Config{})
			due, fresh := addConsumers(q, s)
			due.now, fresh.now = jetstream.ConsumerInfo{NumPending: 3, NumAckPending: 5}, jetstream.ConsumerInfo{NumPending: 11, NumAckPending: 13}
			if test.change != nil {
				test.change(s, due, fresh)
			}
			got, err := q.Stats(t.Context())
			if got != test.want || (err != nil) != (test.fails != "") || err != nil && (!errors.Is(err, no) || !strings.HasPrefix(err.Error(), "durable: stats: ")) {
				t.Errorf("got %v, %v, want %v", got, err, test.want)
			}
			s.did(t, test.did)
		})
	}
}

func noCount(s *server, _, _ *fakeConsumer) { delete(s.pending, "count-dead") }

// Jobs whose time comes while Stats counts are not missed: the number of later ones is the larger one of before and
// after.
func TestStats_JobsMove(t *testing.T) {
	for _, c := range [][2]uint64{{9, 4}, {4, 9}} {
		s := &server{pending: map[string]uint64{"count-later": c[0], "count-dead": 1}}
		q := fakeQueue(t, s, Config{})
		due, fresh := addConsumers(q, s)
		due.now.NumPending, fresh.now.NumPending = 1, 1
		q.first = movingConsumer{fresh, func() { s.pending["count-later"] = c[1] }}
		if got, err := q.Stats(t.Context()); got.Later != 9 || err != nil {
			t.Errorf("got %v, %v, want 9 later", got, err)
		}
	}
}

// The later ones cannot be counted the second time.
func TestStats_FailsLater(t *testing.T) {
	s := &server{pending: map[string]uint64{"count-later": 9, "count-dead": 1}, fails: make(map[string]error)}
	q := fakeQueue(t, s, Config{})
	due, fresh := addConsumers(q, s)
	due.now.NumPending, fresh.now.NumPending = 1, 1
	q.first = movingConsumer{fresh, func() { s.fails["consumer count-later"] = errNo }}
	if got, err := q.Stats(t.Context()); got != (Stats{}) || !errors.Is(err, errNo) || !strings.HasPrefix(err.Error(), "durable: stats: ") {
		t.Errorf("got %v, %v", got, err)
	}
	s.did(t, "consumer count-later; info of again; info of first; consumer count-later")
}

func TestStats_String(t *testing.T) {
	if got := (Stats{1, 2, 3, 4}).String(); got != "ready 1, running 2, later 3, dead 4" {
		t.Errorf("got %s", got)
	}
	q := fakeQueue(t, new(server), Config{})
	c := &q.counts
	for i, n := range []interface{ Add(int64) int64 }{&c.put, &c.duplicates, &c.attempts, &c.done, &c.retried, &c.died, &c.handedBack} {
		n.Add(int64(i + 1))
	}
	if got := q.Counts().String(); got != "put 1 (and 2 duplicates), attempts 3, done 4, retried 5, died 6, handed back 7" {
		t.Errorf("got %s", got)
	}
}

package durable

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/retry"
)

// again2 is a second delivery: the job is claimed before the attempt.
func again2(d *delivery) { d.deliveries = 2 }

// Which delivery is attempted, and what is sent to the server for that.
func TestCheck(t *testing.T) {
	put := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	done := func(put time.Time) nats.Header { return nats.Header{headerDone: {"1"}, headerPut: {formatTime(put)}} }
	claim := func(delivery, begun uint64) nats.Header {
		return nats.Header{headerDelivery: {strconv.FormatUint(delivery, 10)}, headerBegun: {strconv.FormatUint(begun, 10)}}
	}
	putAt := func(d *delivery) { d.state.put = put }
	below := func(q *Queue, all ...*jetstream.RawStreamMsg) []*jetstream.RawStreamMsg {
		return append(all, message(q, again, 7, nats.Header{headerPut: {formatTime(put)}}))
	}
	onlyThis := func(q *Queue) []*jetstream.RawStreamMsg { return below(q) }
	for name, test := range map[string]struct {
		stage   stage // default: first
		stored  func(q *Queue) []*jetstream.RawStreamMsg
		fails   map[string]error
		change  func(*delivery)
		alone   bool
		gap     bool // the process did not run for a while before
		slept   bool // … until now
		crashes int  // Config.MaxCrashes
		last    func(q *Queue) (*jetstream.RawStreamMsg, error)
		publish []error
		want    verdict
		did     string
		check   func(t *testing.T, d *delivery, s *server)
	}{
		"the first delivery of a fresh job": {want: begin},
		"it is held here": {change: func(d *delivery) { d.held, d.deliveries = true, 9 }, want: begin, check: func(t *testing.T, d *delivery, _ *server) {
			if d.held {
				t.Error("it is still held")
			}
		}},
		"it is held here, and was cancelled in a gap": {change: func(d *delivery) { d.held, d.looked = true, true }, gap: true, publish: []error{refused}, want: skip, did: "put mark; last *; ack",
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, mark, 9, done(put)), nil }},
		"the lease has run out": {change: func(d *delivery) { d.until = time.Now() }, want: skip},
		"a fired schedule":      {stage: again, change: putAt, want: begin, did: "get 1 *", stored: onlyThis},
		"a schedule that has fired twice": {stage: again, change: putAt, want: skip, did: "get 1 *; ack",
			stored: func(q *Queue) []*jetstream.RawStreamMsg { return below(q, message(q, mark, 6, done(put))) }},
		"a schedule that has fired twice, delivered before": {stage: again, change: func(d *delivery) { putAt(d); d.deliveries = 2 }, want: skip, did: "get 1 *; ack",
			stored: func(q *Queue) []*jetstream.RawStreamMsg { return below(q, message(q, mark, 6, done(put))) }},
		"a schedule that has fired twice, suspect": {stage: again, change: putAt, gap: true, want: skip, did: "get 1 *; ack",
			stored: func(q *Queue) []*jetstream.RawStreamMsg { return below(q, message(q, mark, 6, done(put))) }},
		"a schedule, delivered before":  {stage: again, change: func(d *delivery) { putAt(d); d.deliveries = 2 }, want: begin, did: "get 1 *; put mark", stored: onlyThis},
		"a schedule that was looked at": {stage: again, change: func(d *delivery) { putAt(d); d.looked = true }, want: begin, did: "put mark"},
		"a schedule that has fired again after its job was dead": {stage: again, change: putAt, want: skip, did: "get 1 *; get 4 *; ack",
			stored: func(q *Queue) []*jetstream.RawStreamMsg {
				return below(q, message(q, mark, 3, claim(1, 1)), message(q, dead, 6, nats.Header{headerPut: {formatTime(put)}}))
			}},
		"a schedule, and the ends of an earlier job with the id": {stage: again, change: putAt, want: begin, did: "get 1 *; get 4 *; get 7 *",
			stored: func(q *Queue) []*jetstream.RawStreamMsg {
				return below(q, message(q, mark, 3, done(put.Add(time.Second))), message(q, dead, 6, nats.Header{headerPut: {formatTime(put.Add(time.Second))}}))
			}},
		"a schedule, and a mark that is a claim": {stage: again, change: putAt, want: begin, did: "get 1 *; get 7 *",
			stored: func(q *Queue) []*jetstream.RawStreamMsg {
				return below(q, message(q, mark, 6, nats.Header{headerPut: {formatTime(put)}}))
			}},
		"a schedule, and the messages cannot be read": {stage: again, want: skip, fails: map[string]error{"get 1 *": errors.New("no")},
			did: "get 1 *; log: the state of a job could not be read, the job is handed back; nak in 30s"},
		"a second delivery": {change: again2, want: begin, did: "put mark", check: func(t *testing.T, d *delivery, s *server) {
			if d.last != 101 || !d.looked || !d.claimed || d.begun != 1 {
				t.Errorf("afterwards last %d, looked %t, claimed %t, begun %d", d.last, d.looked, d.claimed, d.begun)
			}
			h := s.lastSent().Header
			if get(h, headerBegun) != "1" || get(h, headerDelivery) != "2" || get(h, headerTTL) != "86400s" ||
				get(h, headerLastSequence) != "7" || get(h, headerLastSubject) != "retrywhen.q.job.x.*" || len(s.lastSent().Data) != 0 {
				t.Errorf("the mark is %v, %q", h, s.lastSent().Data)
			}
		}},
		"a delivery that was claimed before": {change: func(d *delivery) { d.looked, d.begun = true, 2 }, want: begin, did: "put mark",
			check: func(t *testing.T, d *delivery, _ *server) {
				if d.begun != 3 {
					t.Errorf("begun %d, want 3", d.begun)
				}
			}},
		"the process did not run for a while": {slept: true, want: begin, did: "put mark"},
		"two figures": {change: func(d *delivery) { d.deliveries, d.looked, d.begun = 21, true, 10 }, alone: true, crashes: 99, want: begin, did: "put mark",
			check: func(t *testing.T, _ *delivery, s *server) {
				if h := s.lastSent().Header; get(h, headerBegun) != "11" || get(h, headerDelivery) != "21" {
					t.Errorf("the mark is %v", h)
				}
			}},
		"a suspect one":                      {gap: true, want: begin, did: "put mark"},
		"begun too often to run with others": {change: func(d *delivery) { d.deliveries, d.begun = 2, 4 }, want: alone},
		"it runs alone":                      {change: func(d *delivery) { d.deliveries, d.begun = 2, 4 }, alone: true, want: begin, did: "put mark"},
		"one less":                           {change: func(d *delivery) { d.deliveries, d.begun = 2, 3 }, want: begin, did: "put mark"},
		"it can only be given up": {change: func(d *delivery) { d.deliveries, d.begun = 2, 5 }, want: skip,
			did: "put dead; ack; consumer count-dead; create count-dead of retrywhen.q.job.*.dead; info of count-dead"},
		"the job is gone": {change: again2, publish: []error{refused}, want: skip, did: "put mark; last *"},
		"the job is done": {change: again2, publish: []error{refused}, want: skip, did: "put mark; last *; ack",
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, mark, 9, done(put)), nil }},
		"the job waits": {change: again2, publish: []error{refused}, want: skip, did: "put mark; last *; ack",
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, later, 9, nil), nil }},
		"a later delivery was claimed": {change: again2, publish: []error{refused}, want: skip, did: "put mark; last *",
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, mark, 9, claim(3, 1)), nil }},
		"this delivery was claimed": {change: again2, publish: []error{refused}, want: begin, did: "put mark; last *; put mark",
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, mark, 9, claim(2, 1)), nil },
			check: func(t *testing.T, d *delivery, s *server) {
				if d.begun != 2 || get(s.lastSent().Header, headerLastSequence) != "9" {
					t.Errorf("begun %d, after message %s, want 2, 9", d.begun, get(s.lastSent().Header, headerLastSequence))
				}
			}},
		"the mark has expired": {change: func(d *delivery) { d.deliveries, d.last, d.begun = 2, 9, 3 }, publish: []error{refused}, want: begin, did: "put mark; last *; put mark",
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, first, 7, nil), nil },
			check: func(t *testing.T, d *delivery, s *server) {
				if d.begun != 1 || !d.looked || get(s.lastSent().Header, headerLastSequence) != "7" {
					t.Errorf("begun %d, looked %t, after message %s", d.begun, d.looked, get(s.lastSent().Header, headerLastSequence))
				}
			}},
		"the last message cannot be read": {change: again2, publish: []error{refused}, want: skip,
			did:  "put mark; last *; log: the state of a job could not be read, the job is handed back; nak in 30s",
			last: func(*Queue) (*jetstream.RawStreamMsg, error) { return nil, errors.New("no") }},
		"its mark changes all the time": {change: again2, publish: alwaysRefused, want: skip,
			did:  strings.Repeat("put mark; last *; ", 10) + "nak",
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, mark, 9, claim(2, 1)), nil }},
	} {
		t.Run(name, func(t *testing.T) {
			s, q := fake(t, Config{MaxCrashes: test.crashes})
			if test.slept {
				q.gaps.ran = time.Now().Add(-q.config.Lease)
			}
			s.fails = test.fails
			if test.stored != nil {
				s.stored = test.stored(q)
			}
			s.publish = inTurn(test.publish...)
			if test.last != nil {
				s.last = func(subject string) (*jetstream.RawStreamMsg, error) {
					m, err := test.last(q)
					if m != nil && !strings.HasSuffix(subject, "*") && subject != m.Subject {
						return nil, jetstream.ErrMsgNotFound
					}
					return m, err
				}
			}
			if test.stage == "" {
				test.stage = first
			}
			d := deliver(q, s, test.stage, test.change)
			if test.gap {
				q.gaps.suspect = time.Now().Add(time.Second)
			}
			if got := q.check(t.Context(), d, test.alone); got != test.want {
				t.Errorf("the verdict is %v, want %v", got, test.want)
			}
			s.did(t, test.did)
			if has := q.leases.all[d.seq] == d; has != (test.want != skip) {
				t.Errorf("the queue has the delivery: %t", has)
			}
			if test.check != nil {
				test.check(t, d, s)
			}
		})
	}
}

// A worker has died while the job waited in it. Its wait continues here, with the state of its mark and what the
// delivery alone has.
func TestCheck_AWaitOfAWorkerThatHasDied(t *testing.T) {
	for name, test := range map[string]struct {
		due     time.Duration
		stopped bool
		want    verdict
		did     string
		ready   bool
	}{
		"not due":                   {due: 900 * time.Millisecond, want: skip, did: "put mark; last *"},
		"due in a second":           {due: time.Second, want: skip, did: "put mark; last *"},
		"due now":                   {want: begin, did: "put mark; last *; put mark"},
		"due":                       {due: -time.Second, want: begin, did: "put mark; last *; put mark"},
		"due in more than a second": {due: 6 * time.Second, want: skip, did: "put mark; last *; nak in 6s"},
		"the feed has stopped":      {due: 900 * time.Millisecond, stopped: true, want: begin, did: "put mark; last *; put mark"},
	} {
		bubble(t, name, func(t *testing.T) {
			s, q := fake(t, Config{})
			s.publish = inTurn(refused)
			failed := time.Now().Add(-time.Minute)
			st := state{put: failed, kind: "other", lastError: "no", due: time.Now().Add(test.due), retry: failures(3, failed)}
			h := st.header()
			h[headerBegun], h[headerDelivery] = []string{"0"}, []string{"1"}
			s.last = func(string) (*jetstream.RawStreamMsg, error) { return message(q, mark, 9, h), nil }
			d := deliver(q, s, first, func(d *delivery) {
				d.deliveries, d.state.user, d.state.retry = 2, nats.Header{"A": {"b"}}, failures(1, failed)
			})
			if test.stopped {
				d.feed.stopped = true
			}
			if got := q.check(t.Context(), d, false); got != test.want {
				t.Errorf("the verdict is %v, want %v", got, test.want)
			}
			s.did(t, test.did)
			if d.state.retry.Attempts() != 3 || d.state.lastError != "no" || get(d.state.user, "A") != "b" || d.state.kind != "other" || s.lastSent().Header["A"] != nil {
				t.Errorf("the state is %+v, the mark is %v", d.state, s.lastSent().Header)
			}
			if test.want == skip && test.due <= short {
				if _, waits := d.feed.waiting[d]; !waits || len(d.feed.waiting) != 1 {
					t.Errorf("%d jobs wait, want this one", len(d.feed.waiting))
				}
			}
		})
	}
}

// An older state does not replace the delivery's.
func TestCatchUp_AnOlderState(t *testing.T) {
	s, q := fake(t, Config{})
	old := state{put: time.Now(), lastError: "old", retry: failures(2, time.Now())}
	s.last = func(string) (*jetstream.RawStreamMsg, error) { return message(q, mark, 9, old.header()), nil }
	d := deliver(q, s, again, func(d *delivery) { d.deliveries, d.state.retry, d.state.lastError = 2, failures(2, time.Now()), "new" })
	if !q.catchUp(t.Context(), d) || d.state.lastError != "new" || d.last != 9 || !d.looked {
		t.Errorf("the state is %+v, last %d, looked %t", d.state, d.last, d.looked)
	}
}

// A job that was claimed and is handed back is unclaimed first: its worker has not died.
func TestHandBack(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*delivery)
		pause  time.Duration
		err    error // of the publication
		failed error // of the message
		want   string
	}{
		"at once":       {want: "nak"},
		"after a pause": {pause: 3 * time.Second, want: "nak in 3s"},
		"claimed":       {change: func(d *delivery) { d.claimed, d.looked, d.begun, d.last = true, true, 3, 9 }, want: "put mark; nak"},
		"claimed, and the server refuses": {change: func(d *delivery) { d.claimed, d.looked, d.begun = true, true, 3 }, err: nats.ErrPermissionViolation,
			want: "put mark; log: an attempt that was handed back will count as one that never ended; nak"},
		"the connection is closed": {failed: nats.ErrConnectionClosed,
			want: "nak; log: a job could not be handed back, it is delivered again when its lease has run out"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{publish: func(*nats.Msg) error { return test.err }}
			q := fakeQueue(t, s, Config{})
			d := deliver(q, s, first, test.change)
			d.msg.(*fakeMsg).err = test.failed
			begun := d.begun
			q.handBack(t.Context(), d, test.pause)
			s.did(t, test.want)
			if q.leases.all[7] != nil || q.counts.handedBack.Load() != 1 {
				t.Errorf("the queue still has it, or counts %d", q.counts.handedBack.Load())
			}
			if test.err == nil && begun > 0 {
				h := s.lastSent().Header
				if get(h, headerLastSubject) != "retrywhen.q.job.x.*" || get(h, headerBegun) != "2" || get(h, headerLastSequence) != "9" || d.begun != 2 || d.claimed || d.last != 101 {
					t.Errorf("the mark is %v; afterwards begun %d, claimed %t, last %d", h, d.begun, d.claimed, d.last)
				}
			}
			q.handBack(t.Context(), d, 0) // it is no longer here
			if got := s.took(); got != "" {
				t.Errorf("handed back twice: %q", got)
			}
		})
	}
}

// The message of a delivery that another worker may have got meanwhile is looked for before each step, and before an
// acknowledgement: the server may have come back with an older disk. If it is gone, or another one has its sequence,
// nothing is sent.
func TestHolds(t *testing.T) {
	same := func(d *delivery) (*jetstream.RawStreamMsg, error) {
		return &jetstream.RawStreamMsg{Subject: d.msg.Subject(), Sequence: d.seq, Time: d.put}, nil
	}
	for name, test := range map[string]struct {
		holds func(*delivery) (*jetstream.RawStreamMsg, error)
	}{
		"it is there": {holds: same},
		"it is gone":  {holds: func(*delivery) (*jetstream.RawStreamMsg, error) { return nil, jetstream.ErrMsgNotFound }},
		"another job's": {holds: func(d *delivery) (*jetstream.RawStreamMsg, error) {
			m, _ := same(d)
			m.Subject = "retrywhen.q.job.y.first"
			return m, nil
		}},
		"another one of the job": {holds: func(d *delivery) (*jetstream.RawStreamMsg, error) {
			m, _ := same(d)
			m.Time = m.Time.Add(1)
			return m, nil
		}},
		"no answer": {holds: func(*delivery) (*jetstream.RawStreamMsg, error) { return nil, nats.ErrPermissionViolation }},
	} {
		for what, report := range map[string]struct {
			f   func(*Queue, *delivery) error
			put string
		}{
			"done":         {func(q *Queue, d *delivery) error { return q.newJob(d).Done() }, "mark"},
			"dead":         {func(q *Queue, d *delivery) error { return q.newJob(d).Fail(retry.Permanent(errNo)) }, "dead"},
			"has a round":  {func(q *Queue, d *delivery) error { return q.newJob(d).Again(time.Hour) }, "later"},
			"begins":       {func(q *Queue, d *delivery) error { q.check(t.Context(), d, false); return nil }, "mark"},
			"is cancelled": {func(q *Queue, d *delivery) error { d.cancelled = true; q.check(t.Context(), d, false); return nil }, ""},
			"has begun":    {func(q *Queue, d *delivery) error { return q.look(t.Context(), d) }, ""},
		} {
			s, q := fake(t, Config{})
			s.stored = []*jetstream.RawStreamMsg{message(q, first, 7, nil)}
			d := deliver(q, s, first, nil)
			s.holds = func(uint64) (*jetstream.RawStreamMsg, error) { return test.holds(d) }
			q.gaps.suspect = time.Now().Add(time.Second)
			err := report.f(q, d)
			got := s.took()
			sent := strings.Contains(got, "put "+report.put) && report.put != "" || strings.HasSuffix(got, "; ack")
			if !strings.Contains(got, "ask for 7") || sent != (name == "it is there" && what != "has begun") {
				t.Errorf("%s, %s: it did %q", name, what, got)
			}
			if strings.Contains(got, "; ack") && !strings.HasSuffix(strings.Split(got, "; ack")[0], "ask for 7") {
				t.Errorf("%s, %s: it acknowledges without a question: %q", name, what, got)
			}
			taken := errors.Is(err, ErrTaken)
			if gone := name != "it is there" && name != "no answer"; what == "done" && taken != gone || d.withdrawn != (what == "has begun" && gone) {
				t.Errorf("%s, %s: got %v, withdrawn %t", name, what, err, d.withdrawn)
			}
		}
	}
}

// Without a connection a job is claimed before the attempt, because it may have been cancelled.
func TestCheck_TheConnectionIsLost(t *testing.T) {
	for _, held := range []bool{false, true} {
		s := &server{publish: func(*nats.Msg) error { return refused }}
		q := fakeQueue(t, s, Config{})
		nc, err := nats.Connect("", nats.InProcessServer(pings{s}), nats.MaxReconnects(-1), nats.ReconnectWait(time.Hour))
		must(t, err)
		t.Cleanup(nc.Close)
		s.hangsUp.Store(true)
		for nc.Flush(); !nc.IsReconnecting(); time.Sleep(time.Millisecond) {
		}
		q.nc = nc
		s.stored = []*jetstream.RawStreamMsg{message(q, mark, 9, nats.Header{headerDone: {"1"}})}
		d := deliver(q, s, first, func(d *delivery) { d.held, d.looked = held, held })
		s.holds = func(uint64) (*jetstream.RawStreamMsg, error) { return nil, jetstream.ErrMsgNotFound }
		if got, did := q.check(t.Context(), d, false), s.took(); got != skip || did != "ask for 7; last *; ask for 7" {
			t.Errorf("held %t: the verdict is %v; it did %q", held, got, did)
		}
	}
}

// A mark lives at least a day, and longer if a job is remembered for longer.
func TestMarksExpire(t *testing.T) {
	for remember, want := range map[time.Duration][2]string{
		time.Hour:                         {"86400s", "3600s"},
		48 * time.Hour:                    {"172800s", "172800s"},
		time.Hour + 1:                     {"86400s", "3601s"},
		time.Hour + time.Second/2:         {"86400s", "3601s"},
		time.Hour + time.Second - 1:       {"86400s", "3601s"},
		30*time.Second + time.Millisecond: {"86400s", "31s"},
		math.MaxInt64:                     {"3153600000s", "3153600000s"},
	} {
		s, q := fake(t, Config{Remember: remember})
		d := deliver(q, s, first, nil)
		if got := [2]string{get(q.config.mark(d, 1).Header, headerTTL), get(q.config.doneMark("x", time.Time{}).Header, headerTTL)}; got != want {
			t.Errorf("Remember %v: a claim and a done mark live %v, want %v", remember, got, want)
		}
	}
	m := &nats.Msg{Header: nats.Header{}}
	if expires(m, 0); get(m.Header, headerTTL) != "1s" {
		t.Errorf("a time of 0 is %s, want 1s", get(m.Header, headerTTL))
	}
}

// A claim is taken back with two more tries, so that the end of a worker is not held up.
func TestUnclaim_WhileTheServerIsUnavailable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{publish: func(*nats.Msg) error { return unavailable }}
		q := fakeQueue(t, s, Config{})
		d := deliver(q, s, first, func(d *delivery) { d.claimed, d.begun = true, 1 })
		if err := q.unclaim(t.Context(), d); !errors.Is(err, unavailable) || s.took() != "put mark; put mark; put mark" {
			t.Errorf("got %v after %d publications, want 3", err, len(s.sent))
		}
		if d.begun != 1 || !d.claimed || d.last != 7 {
			t.Errorf("begun %d, claimed %t, last %d, want no change", d.begun, d.claimed, d.last)
		}
	})
}

package durable

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// A job leaves no mark only if nobody can know it: put without an id, delivered once, in its lease, on a connection.
func TestNeedsNoMark(t *testing.T) {
	for name, test := range map[string]struct {
		change func(q *Queue, d *delivery)
		want   bool
	}{
		"fresh":                  {func(*Queue, *delivery) {}, true},
		"put with an id":         {func(_ *Queue, d *delivery) { d.state.put = time.Now() }, false},
		"delivered twice":        {func(_ *Queue, d *delivery) { d.deliveries = 2 }, false},
		"it has a mark":          {func(_ *Queue, d *delivery) { d.last = 8 }, false},
		"suspect":                {func(q *Queue, _ *delivery) { q.gaps.suspect = time.Now().Add(time.Second) }, false},
		"the lease has run out":  {func(_ *Queue, d *delivery) { d.until = time.Now() }, false},
		"it was cancelled":       {func(q *Queue, d *delivery) { q.leases.withdraw(d) }, false},
		"there is no connection": {func(q *Queue, _ *delivery) { q.nc = new(nats.Conn) }, false},
	} {
		t.Run(name, func(t *testing.T) {
			s, q := fakeOnline(t, Config{})
			d := deliver(q, s, first, nil)
			test.change(q, d)
			if got := q.needsNoMark(d); got != test.want {
				t.Errorf("got %t, want %t", got, test.want)
			}
		})
	}
}

// What Done does to the job, and returns.
func TestDone(t *testing.T) {
	for name, test := range map[string]struct {
		online bool
		change func(q *Queue, d *delivery)
		put    error // of the publication
		last   func(q *Queue) (*jetstream.RawStreamMsg, error)
		acked  error
		did    string
		want   error
	}{
		"without a mark":                          {online: true, did: "ack"},
		"without a mark, and Close was faster":    {online: true, change: func(q *Queue, d *delivery) { q.leases.remove(d) }, want: ErrClosed},
		"without a mark, and the connection ends": {online: true, acked: nats.ErrConnectionClosed, did: "ack", want: ErrClosed},
		"with a mark":                             {did: "put mark; ack"},
		"with a mark, which is refused by the server": {put: nats.ErrPermissionViolation, want: ErrRefused,
			did: "put mark; log: the outcome of an attempt could not be stored, the job is handed back; nak in 30s"},
		"another worker has it": {put: refused, did: "put mark; last *", want: ErrTaken,
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, mark, 9, nats.Header{}), nil }},
		"another worker has settled it": {put: refused, did: "put mark; last *; ack", want: ErrTaken,
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) {
				return message(q, mark, 9, nats.Header{headerDone: {"1"}}), nil
			}},
		"another worker has failed": {put: refused, did: "put mark; last *; ack", want: ErrTaken,
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, later, 9, nil), nil }},
		"it was claimed, and is gone": {put: refused, did: "put mark; last *", want: ErrTaken, change: func(_ *Queue, d *delivery) { d.last = 8 }},
		"it was claimed, and has failed": {put: refused, did: "put mark; last *; ack", want: ErrTaken, change: func(_ *Queue, d *delivery) { d.last = 8 },
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, later, 9, nil), nil }},
		"it is gone": {put: refused, did: "put mark; last *", want: ErrTaken},
		"the server does not say who has it": {put: refused, want: nats.ErrPermissionViolation,
			did:  "put mark; last *; log: the outcome of an attempt could not be stored, the job is handed back; nak in 30s",
			last: func(*Queue) (*jetstream.RawStreamMsg, error) { return nil, nats.ErrPermissionViolation }},
		"a new message of the same sequence": {put: refused, did: "put mark; last *; ack", want: ErrTaken, // the job's own, and it was not claimed
			last: func(q *Queue) (*jetstream.RawStreamMsg, error) { return message(q, first, 7, nil), nil }},
		"with a mark, and the connection ends": {acked: nats.ErrConnectionClosed, did: "put mark; ack; log: a delivery could not be acknowledged"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{publish: func(*nats.Msg) error { return test.put }}
			ended := 0
			q := fakeQueue(t, s, Config{Policy: retry.Default.With(retry.OnDone(func(context.Context, retry.Result) { ended++ }))})
			if test.online {
				q.nc = connected(t, s)
			}
			if test.last != nil {
				s.last = func(string) (*jetstream.RawStreamMsg, error) { return test.last(q) }
			}
			d := deliver(q, s, first, nil)
			d.msg.(*fakeMsg).err = test.acked
			if test.change != nil {
				test.change(q, d)
			}
			job := q.newJob(d)
			err := job.Done()
			if test.want == nil && err != nil || !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if err != nil && !strings.HasPrefix(err.Error(), "durable: done: job x: ") {
				t.Errorf("the error is %q", err)
			}
			s.did(t, test.did)
			if n := q.counts.done.Load(); (n == 1) != (err == nil) || (ended == 1) != (err == nil) {
				t.Errorf("%d jobs are counted as done, OnDone is called %d times", n, ended)
			}
			if q.leases.all[7] != nil {
				t.Error("the queue still has it")
			}
			if h := s.lastSent().Header; h[headerPut] != nil { // it was put without an id
				t.Errorf("the mark is %v", h)
			}
			if err := job.Done(); !errors.Is(err, ErrSettled) {
				t.Errorf("the second Done: %v", err)
			}
			if err := job.Fail(errors.New("no")); !errors.Is(err, ErrSettled) {
				t.Errorf("Fail after it: %v", err)
			}
		})
	}
}

// When a revived job is done, and its dead letter still exists, the letter goes before the delivery is acknowledged.
func TestDone_Revived(t *testing.T) {
	const broken = "log: the dead letter of a revived job could not be removed, the job is handed back for that; nak in 30s"
	for name, test := range map[string]struct {
		stored    func(q *Queue) []*jetstream.RawStreamMsg
		last      error
		claimed   bool
		mayDelete bool
		fails     map[string]error
		publish   []error
		did       string
		want      error
	}{
		"the letter is gone":           {did: "put mark; last dead; ack"},
		"the letter is there":          {stored: theLetter, mayDelete: true, did: "put mark; last dead; delete 3; ack"},
		"the letter cannot be deleted": {stored: theLetter, mayDelete: true, fails: map[string]error{"delete 3": errNo}, did: "put mark; last dead; delete 3; " + broken},
		"the user may not delete":      {stored: theLetter, did: "put mark; last dead; put dead; ack"},
		"others were faster":           {stored: theLetter, publish: []error{nil, refused}, did: "put mark; last dead; put dead; ack"},
		"the letter is buried": {stored: func(q *Queue) []*jetstream.RawStreamMsg {
			return []*jetstream.RawStreamMsg{letter(q, "x", 3, nats.Header{headerDone: {"1"}})}
		}, did: "put mark; last dead; ack"},
		"the letter cannot be read":         {last: errNo, claimed: true, did: "put mark; last dead; " + broken},
		"the letter cannot be removed":      {stored: theLetter, publish: []error{nil, errNo}, did: "put mark; last dead; put dead; " + broken},
		"another worker has done it":        {stored: theLetterAndTheMark, publish: []error{refused}, did: "put mark; last *; last dead; put dead; ack", want: ErrTaken},
		"another worker has stored a retry": {stored: func(q *Queue) []*jetstream.RawStreamMsg { return append(theLetter(q), message(q, later, 9, nil)) }, publish: []error{refused}, did: "put mark; last *; ack", want: ErrTaken},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{publish: inTurn(test.publish...)}
			q := fakeQueue(t, s, Config{Remember: time.Hour})
			s.fails = test.fails
			q.mayNotDelete.Store(!test.mayDelete)
			if test.stored != nil {
				s.stored = test.stored(q)
			}
			if test.last != nil {
				s.last = func(string) (*jetstream.RawStreamMsg, error) { return nil, test.last }
			}
			d := deliver(q, s, first, func(d *delivery) { d.state.revived, d.state.put, d.claimed = true, time.Now(), test.claimed })
			if err := q.newJob(d).Done(); !errors.Is(err, test.want) || (err == nil) != (test.want == nil) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			s.did(t, test.did)
			if h := s.lastSent().Header; strings.Contains(test.did, "put dead") && (get(h, headerDone) != "1" || get(h, headerTTL) != "1s" || get(h, headerBy) == "" ||
				get(h, headerLastSubject) != "retrywhen.q.job.x.dead" || get(h, headerLastSequence) != "3") {
				t.Errorf("the mark in the place of the letter is %v", h)
			}
		})
	}
}

func theLetter(q *Queue) []*jetstream.RawStreamMsg {
	return []*jetstream.RawStreamMsg{letter(q, "x", 3, nil)}
}

func theLetterAndTheMark(q *Queue) []*jetstream.RawStreamMsg {
	return append(theLetter(q), message(q, mark, 9, nats.Header{headerDone: {"1"}}))
}

// A delivery of a revived job that another worker has done is acknowledged when the old letter is gone.
func TestCheck_ARevivedJobIsDone(t *testing.T) {
	s := &server{publish: func(m *nats.Msg) error {
		if strings.HasSuffix(m.Subject, "mark") {
			return refused
		}
		return nil
	}}
	q := fakeQueue(t, s, Config{})
	s.stored = theLetterAndTheMark(q)
	d := deliver(q, s, first, func(d *delivery) { d.state.revived, d.deliveries = true, 2 })
	if got := q.check(t.Context(), d, false); got != skip || s.took() != "put mark; last *; last dead; delete 3; ack" {
		t.Errorf("the verdict is %v", got)
	}
}

// An attempt took so long that its mark has expired: the step starts from the message again, once.
func TestAdvance_TheMarkHasExpired(t *testing.T) {
	s, q := fake(t, Config{})
	s.publish = inTurn(refused)
	s.last = func(string) (*jetstream.RawStreamMsg, error) { return message(q, first, 7, nil), nil }
	d := deliver(q, s, first, func(d *delivery) { d.last = 9 })
	stored, err := q.advance(t.Context(), d, q.config.doneMark("x", d.state.put))
	if !stored || err != nil || d.last != 101 || s.took() != "put mark; last *; put mark" || get(s.lastSent().Header, headerLastSequence) != "7" {
		t.Errorf("stored %t, %v, last %d, after message %s", stored, err, d.last, get(s.lastSent().Header, headerLastSequence))
	}
}

// What Fail stores, by the wait and by what has happened to the delivery.
func TestFail(t *testing.T) {
	const minute, ms = time.Minute, time.Millisecond
	failure := errors.New("no")
	for name, test := range map[string]struct {
		delay  time.Duration
		change func(q *Queue, d *delivery)
		err    error             // that the attempt failed with, default failure
		put    error             // of the publication
		during func(d *delivery) // the publication
		did    string
		want   error
		check  func(t *testing.T, q *Queue, d *delivery, m *nats.Msg)
	}{
		"a long wait is stored": {delay: minute, did: "put later; ack", check: func(t *testing.T, q *Queue, _ *delivery, m *nats.Msg) {
			now := time.Now()
			s := readState(m.Header)
			if !s.due.Equal(now.Add(minute)) || s.retry.Attempts() != 1 || s.lastError != "no" || string(m.Data) != "data" || !s.put.Equal(now) {
				t.Errorf("stored is %+v, %q", s, m.Data)
			}
			if get(m.Header, headerSchedule) != "@at "+formatTime(now.Add(minute)) || get(m.Header, headerScheduleTarget) != "retrywhen.q.job.x.again" ||
				get(m.Header, headerLastSequence) != "7" {
				t.Errorf("the headers are %v", m.Header)
			}
			if q.counts.retried.Load() != 1 {
				t.Errorf("%d retries are counted", q.counts.retried.Load())
			}
		}},
		"a second is long": {delay: time.Second, did: "put later; ack"},
		"a short wait is kept here": {delay: 999 * ms, did: "put mark", check: func(t *testing.T, _ *Queue, d *delivery, m *nats.Msg) {
			if !d.held || d.claimed || d.moved || !d.looked || d.begun != 0 || d.last != 101 || len(d.feed.waiting) != 1 {
				t.Errorf("held %t, claimed %t, moved %t, looked %t, begun %d, last %d, %d wait", d.held, d.claimed, d.moved, d.looked, d.begun, d.last, len(d.feed.waiting))
			}
			if get(m.Header, headerBegun) != "0" || readState(m.Header).retry.Attempts() != 1 || len(m.Data) != 0 {
				t.Errorf("the mark is %v, %q", m.Header, m.Data)
			}
		}},
		"a claimed one that is kept": {delay: 999 * ms, did: "put mark",
			change: func(_ *Queue, d *delivery) { d.claimed, d.begun, d.looked = true, 2, true },
			check: func(t *testing.T, _ *Queue, d *delivery, m *nats.Msg) {
				if d.begun != 0 || d.claimed || get(m.Header, headerBegun) != "0" {
					t.Errorf("begun %d, claimed %t, mark %v", d.begun, d.claimed, m.Header)
				}
			}},
		"a short wait of a feed that has stopped": {delay: 999 * ms, did: "put mark; put later; ack", change: func(_ *Queue, d *delivery) { d.feed.stopped = true }},
		"a short wait, and the mark is refused": {delay: 999 * ms, put: nats.ErrPermissionViolation, want: ErrRefused,
			did: "put mark; log: the outcome of an attempt could not be stored, the job is handed back; nak in 30s"},
		"a short wait, and the feed stops meanwhile": {delay: 999 * ms, during: func(d *delivery) { d.feed.stopped = true },
			did: "put mark; put later; ack"},
		"a short wait, and the job is gone": {delay: 999 * ms, put: refused, did: "put mark; last *", check: func(t *testing.T, _ *Queue, d *delivery, _ *nats.Msg) {
			if d.held || len(d.feed.waiting) != 0 {
				t.Error("it is kept")
			}
		}},
		"it snoozes, and the step is refused": {err: Snooze(time.Hour), put: nats.ErrPermissionViolation, want: ErrRefused,
			did: "put later; log: the outcome of an attempt could not be stored, the job is handed back; nak in 1h0m0s"},
		"a long wait, and the step is refused": {delay: minute, put: nats.ErrPermissionViolation, want: ErrRefused,
			did: "put later; log: the outcome of an attempt could not be stored, the job is handed back; nak in 1m0s"},
		"a long wait, and the job is gone": {delay: minute, put: refused, did: "put later; last *"},
		"it snoozes": {delay: minute, err: Snooze(time.Hour), did: "put later; ack", check: func(t *testing.T, q *Queue, _ *delivery, m *nats.Msg) {
			if s := readState(m.Header); !s.due.Equal(time.Now().Add(time.Hour)) || s.retry.Attempts() != 0 || q.counts.retried.Load() != 0 {
				t.Errorf("stored is %+v, %d retries", s, q.counts.retried.Load())
			}
		}},
		"it was put with an id": {delay: minute, did: "put later; ack", change: func(_ *Queue, d *delivery) { d.state.put = d.put.Add(-time.Hour) },
			check: func(t *testing.T, _ *Queue, _ *delivery, m *nats.Msg) {
				if s := readState(m.Header); !s.put.Equal(time.Now().Add(-time.Hour)) {
					t.Errorf("put at %v", s.put)
				}
			}},
		"the error's text panics": {delay: minute, err: wordless{}, did: "put later; ack", check: func(t *testing.T, _ *Queue, _ *delivery, m *nats.Msg) {
			if s := readState(m.Header); s.lastError != "an error whose Error method panics" {
				t.Errorf("the error is %q", s.lastError)
			}
		}},
	} {
		bubble(t, name, func(t *testing.T) {
			s := new(server)
			var decided []error
			policy := retry.New(backoff.Constant(test.delay).Jitter(jitter.None), retry.If(func(err error) bool { decided = append(decided, err); return true }))
			q := fakeQueue(t, s, Config{Policy: policy})
			d := deliver(q, s, first, nil)
			s.publish = func(*nats.Msg) error {
				if test.during != nil {
					test.during(d)
				}
				return test.put
			}
			if test.change != nil {
				test.change(q, d)
			}
			if test.err == nil {
				test.err = failure
			}
			err := q.newJob(d).Fail(test.err)
			if _, snoozes := test.err.(*snooze); !snoozes && (len(decided) != 1 || decided[0] != test.err) {
				t.Errorf("the policy decided about %v", decided)
			}
			if test.want == nil && err != nil || !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			s.did(t, test.did)
			if test.check != nil {
				test.check(t, q, d, s.lastSent())
			}
		})
	}
}

type wordless struct{}

func (wordless) Error() string { panic("no words") }

// A Signal does not restart the counts of a job, whenever it fires, whether its wait is stored or here.
func TestFail_ASignal(t *testing.T) {
	for wait, kept := range map[time.Duration]string{short: "put later; ack", short - 1: "put mark"} {
		signal := retry.NewSignal()
		s, q := fake(t, Config{Policy: retry.New(backoff.Constant(wait), retry.Limit(2), retry.ResetOn(signal))})
		q.bound.next.Store(time.Now().Add(time.Hour).UnixNano())
		d := deliver(q, s, first, nil)
		for _, want := range []string{kept, kept, "put dead; ack"} {
			signal.Fire()
			job := q.newJob(d)
			signal.Fire()
			if err := job.Fail(errNo); err != nil || s.took() != want {
				t.Errorf("after %d attempts with waits of %v: %v, want %s", job.Attempt, wait, err, want)
			}
			if wait == short {
				d = deliver(q, s, first, func(d *delivery) { d.state = readState(s.lastSent().Header) })
			}
		}
	}
}

// The server's limit was lowered: the job is handed back until its retry is due, and the claim that is taken back has
// its state.
func TestFail_TooLarge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &server{publish: func(m *nats.Msg) error {
			if len(m.Data) > 0 {
				return nats.ErrMaxPayload
			}
			return nil
		}}
		q := fakeQueue(t, s, Config{Policy: retry.New(backoff.Constant(48*time.Hour).Jitter(jitter.None), retry.Limit(1))})
		d := deliver(q, s, first, func(d *delivery) { d.claimed, d.begun, d.deliveries = true, 1, 2 })
		if err := q.newJob(d).Fail(errNo); !errors.Is(err, ErrTooLarge) {
			t.Error(err)
		}
		s.did(t, "put later; log: the outcome of an attempt could not be stored, the job is handed back; put mark; nak in 48h0m0s")
		m := s.lastSent()
		if st := readState(m.Header); st.retry.Attempts() != 1 || !st.due.Equal(time.Now().Add(48*time.Hour)) || get(m.Header, headerBegun) != "0" {
			t.Errorf("the mark is %v", m.Header)
		}
	})
}

// What is in a dead letter, and what is counted and called.
func TestGiveUp(t *testing.T) {
	exhausted := func(cause error) error { return &retry.Error{Cause: cause, Last: errors.New("last")} }
	for name, test := range map[string]struct {
		end       error
		keep      time.Duration
		lastError string
		cause     string
		ttl       string
	}{
		"the policy":       {end: exhausted(retry.ErrLimit), lastError: "no", cause: retry.ErrLimit.Error()},
		"permanent":        {end: errors.New("other"), lastError: "no", cause: "permanent"},
		"abandoned":        {end: ErrAbandoned, lastError: ErrAbandoned.Error(), cause: "abandoned"},
		"kept for an hour": {end: errors.New("other"), keep: time.Hour, lastError: "no", cause: "permanent", ttl: "3600s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := new(server)
			var ended []error
			policy := retry.Default.With(retry.OnDone(func(_ context.Context, o retry.Result) { ended = append(ended, o.Err) }))
			q := online(t, s, Config{Policy: policy, KeepDead: test.keep})
			q.bound.next.Store(time.Now().Add(time.Hour).UnixNano())
			d := deliver(q, s, first, func(d *delivery) {
				d.state.lastError, d.state.due = "no", time.Now()
				d.state.retry = failures(3, time.Now())
			})
			at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
			op := q.operation(t.Context(), &d.state)
			must(t, q.giveUp(t.Context(), &op, d, test.end, at, at))
			m := s.lastSent()
			if m.Subject != "retrywhen.q.job.x.dead" || string(m.Data) != "data" || get(m.Header, headerCause) != test.cause ||
				!parseTime(get(m.Header, headerDied)).Equal(at) || readState(m.Header).lastError != test.lastError || get(m.Header, headerTTL) != test.ttl ||
				get(m.Header, headerDue) != "" || !readState(m.Header).put.Equal(d.put) {
				t.Errorf("the dead letter is %s, %q, %v", m.Subject, m.Data, m.Header)
			}
			if q.counts.died.Load() != 1 || len(ended) != 1 || ended[0] != test.end {
				t.Errorf("counted %d, OnDone got %v", q.counts.died.Load(), ended)
			}
			if d.state.due.IsZero() {
				t.Error("the delivery's own state was changed")
			}
			if got := outcomesOf(s); got != "put dead; ack" || get(m.Header, headerLastSequence) != "7" || get(m.Header, headerLastSubject) != "retrywhen.q.job.x.*" {
				t.Errorf("it did %q, with the headers %v", got, m.Header)
			}
		})
	}
}

// The error's text and the position share their room.
func TestGiveUp_LongErrorAndPosition(t *testing.T) {
	s, q := fakeOnline(t, Config{})
	q.bound.next.Store(time.Now().Add(time.Hour).UnixNano())
	d := deliver(q, s, first, func(d *delivery) {
		d.state.position, d.state.lastError = []byte(strings.Repeat("1", maxPosition)), strings.Repeat("e", errorRoom)
	})
	op := q.operation(t.Context(), &d.state)
	must(t, q.giveUp(t.Context(), &op, d, errNo, time.Now(), time.Now()))
	h := s.lastSent().Header
	if size := len(get(h, headerError)) + len(get(h, headerAt)); size > errorRoom || len(get(h, headerAt)) != maxPosition {
		t.Errorf("both have %d bytes, want at most %d", size, errorRoom)
	}
}

// The end of the context of the policy's hooks does not end the operation: the policy still decides.
func TestOperation_EndedContext(t *testing.T) {
	q := fakeQueue(t, new(server), Config{Policy: retry.New(backoff.Constant(time.Minute))})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	op := q.operation(ctx, new(state))
	if _, end := op.Failed(retry.Outcome{Err: errNo, At: time.Now()}); end != nil {
		t.Errorf("it ended with %v", end)
	}
}

// A dead letter that cannot be stored: the job is handed back, and nothing is counted or called.
func TestGiveUp_NotStored(t *testing.T) {
	for name, test := range map[string]struct {
		put  error
		want error
		did  string
	}{
		"refused":         {nats.ErrPermissionViolation, ErrRefused, "log: the outcome of an attempt could not be stored, the job is handed back; nak in 30s"},
		"the job is gone": {refused, nil, "last *"},
	} {
		t.Run(name, func(t *testing.T) {
			s := new(server)
			policy := retry.Default.With(retry.OnDone(func(context.Context, retry.Result) { t.Error("OnDone was called") }))
			q := online(t, s, Config{Policy: policy})
			s.publish = func(*nats.Msg) error { return errors.Join(q.nc.Flush(), test.put) }
			d := deliver(q, s, first, nil)
			op := q.operation(t.Context(), &d.state)
			err := q.giveUp(t.Context(), &op, d, errors.New("end"), time.Now(), time.Now())
			if test.want == nil && err != nil || !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if got := s.took(); !strings.HasSuffix(got, test.did) {
				t.Errorf("it did %q, want %q at the end", got, test.did)
			}
			if q.counts.died.Load() != 0 {
				t.Error("it is counted as dead")
			}
		})
	}
}

// How long a job whose outcome was not stored stays away.
func TestPause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := fakeQueue(t, new(server), Config{Lease: 20 * time.Second})
		for due, want := range map[time.Duration]time.Duration{0: 20 * time.Second, 19 * time.Second: 20 * time.Second, time.Minute: time.Minute} {
			if got := q.pause(t.Context(), time.Now().Add(due)); got != want {
				t.Errorf("due in %v: %v, want %v", due, got, want)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if got := q.pause(ctx, time.Now().Add(time.Minute)); got != 0 {
			t.Errorf("at the end: %v, want 0", got)
		}
	})
}

// A policy whose predicate panics ends the job, and the dead letter has both errors.
func TestFail_ThePolicyPanics(t *testing.T) {
	s, q := fakeOnline(t, Config{Policy: retry.Default.With(retry.If(func(error) bool { panic("boom") }))})
	q.bound.next.Store(time.Now().Add(time.Hour).UnixNano())
	d := deliver(q, s, first, nil)
	must(t, q.newJob(d).Fail(errors.New("no")))
	if text := readState(s.lastSent().Header).lastError; !strings.HasPrefix(text, "no; then the policy: panic: boom") || !strings.HasSuffix(s.lastSent().Subject, ".dead") {
		t.Errorf("the error is %q", text)
	}
	s.publish = func(*nats.Msg) error { return nats.ErrPermissionViolation }
	if err := q.newJob(deliver(q, s, first, nil)).Fail(errors.New("no")); !errors.Is(err, ErrRefused) {
		t.Errorf("a dead letter that is refused: %v", err)
	}
}

// A job that was abandoned in its first attempt has an error nevertheless, and keeps the time at which it was put.
func TestGiveUp_TheFirstAttempt(t *testing.T) {
	s, q := fakeOnline(t, Config{})
	q.bound.next.Store(time.Now().Add(time.Hour).UnixNano())
	put := time.Now().Add(-time.Hour)
	d := deliver(q, s, first, func(d *delivery) { d.state.put = put })
	op := q.operation(t.Context(), &d.state)
	must(t, q.giveUp(t.Context(), &op, d, ErrAbandoned, time.Now(), time.Now()))
	if got := readState(s.lastSent().Header); got.lastError != ErrAbandoned.Error() || !got.put.Equal(put) {
		t.Errorf("the dead letter has %+v", got)
	}
}

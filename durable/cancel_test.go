package durable

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// What Cancel stores, by the state of the job.
func TestCancel(t *testing.T) {
	put := time.Now()
	named := nats.Header{headerPut: {formatTime(put)}}
	done := nats.Header{headerDone: {"1"}}
	all := func(m ...*jetstream.RawStreamMsg) func(*Queue) []*jetstream.RawStreamMsg {
		return func(*Queue) []*jetstream.RawStreamMsg { return m }
	}
	q := fakeQueue(t, new(server), Config{})
	for name, test := range map[string]struct {
		stored    func(*Queue) []*jetstream.RawStreamMsg
		publish   []error
		last      error
		fails     map[string]error
		forbidden bool
		did       string
		ttl       string // of the message in the place of the job's
		want      error
	}{
		"it is ready":              {stored: all(message(q, first, 9, named)), did: "last *; put mark; get 1 *; delete 9; get 10 *; info of first"},
		"it waits":                 {stored: all(message(q, later, 9, named)), did: "last *; put mark; get 1 *; delete 9; get 10 *"},
		"its time has come":        {stored: all(message(q, again, 9, named)), did: "last *; put mark; get 1 *; delete 9; get 10 *; info of again"},
		"a worker has it":          {stored: all(message(q, first, 8, named), message(q, mark, 9, named)), did: "last *; put mark; get 1 *; delete 8; get 9 *; get 10 *; info of first"},
		"it was revived":           {stored: all(message(q, dead, 8, named), message(q, first, 9, named)), did: "last *; put mark; get 1 *; delete 8; get 9 *; delete 9; get 10 *; info of first"},
		"there is none":            {stored: all(), did: "last *", want: ErrNotFound},
		"it is dead":               {stored: all(message(q, dead, 9, named)), did: "last *", want: ErrNotFound},
		"it is done":               {stored: all(message(q, mark, 9, done)), did: "last *; get 1 *; get 10 *", want: ErrNotFound},
		"it was forgotten halfway": {stored: all(message(q, dead, 8, named), message(q, mark, 9, done)), did: "last *; get 1 *; delete 8; get 9 *; get 10 *", want: ErrNotFound},
		"it was cancelled halfway": {stored: all(message(q, later, 9, named), message(q, mark, 10, done)), did: "last *; get 1 *; delete 9; get 10 *; get 11 *"},
		"it moves on":              {stored: all(message(q, first, 9, named)), publish: []error{refused}, did: "last *; put mark; last *; put mark; get 1 *; delete 9; get 10 *; info of first"},
		"it always moves on":       {stored: all(message(q, first, 9, named)), publish: alwaysRefused, did: strings.Repeat("last *; put mark; ", 9) + "last *; put mark", want: errMoved},
		"it cannot be read":        {last: nats.ErrTimeout, did: "last *", want: ErrUnreachable},
		"the rest cannot be read":  {stored: all(message(q, first, 9, named)), fails: map[string]error{"get 1 *": errNo}, did: "last *; put mark; get 1 *", want: errNo},
		"it cannot be deleted":     {stored: all(message(q, first, 9, named)), fails: map[string]error{"delete 9": errNo}, did: "last *; put mark; get 1 *; delete 9", want: errNo},
		"the server refuses":       {stored: all(message(q, first, 9, named)), publish: []error{nats.ErrPermissionViolation}, did: "last *; put mark", want: ErrRefused},
		// Without the permission to delete, what is left is replaced.
		"it is ready, replaced":       {forbidden: true, stored: all(message(q, first, 9, named)), did: "last *; put mark; get 1 *; put first; get 10 *; info of first", ttl: "120s"},
		"it waits, replaced":          {forbidden: true, stored: all(message(q, later, 9, named)), did: "last *; put mark; get 1 *; put later; get 10 *", ttl: "1s"},
		"its time has come, replaced": {forbidden: true, stored: all(message(q, again, 9, named)), did: "last *; put mark; get 1 *; put again; get 10 *; info of again", ttl: "120s"},
		"it was revived, replaced":    {forbidden: true, stored: all(message(q, mark, 8, named), message(q, dead, 9, named), message(q, first, 10, done)), did: "last *; get 1 *; get 9 *; put dead; get 10 *; get 11 *", want: ErrNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{publish: inTurn(test.publish...)}
			q := fakeQueue(t, s, Config{})
			s.fails = test.fails
			q.mayNotDelete.Store(test.forbidden)
			if test.last != nil {
				s.last = func(string) (*jetstream.RawStreamMsg, error) { return nil, test.last }
			} else {
				s.stored = test.stored(q)
			}
			err := q.Cancel(t.Context(), "x")
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || err != nil && !strings.HasPrefix(err.Error(), `durable: cancel: job "x": `) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			s.did(t, test.did)
			if err != nil {
				return
			}
			for i, m := range s.sent {
				ttl, subject := "120s", "retrywhen.q.job.x.*"
				if i > len(test.publish) {
					ttl, subject = test.ttl, m.Subject
				}
				if get(m.Header, headerDone) != "1" || get(m.Header, headerTTL) != ttl || get(m.Header, headerPut) != formatTime(put) || len(m.Data) != 0 ||
					get(m.Header, headerLastSubject) != subject || get(m.Header, headerLastSequence) != "9" {
					t.Errorf("stored on %s is %v", m.Subject, m.Header)
				}
			}
		})
	}
}

// A worker has ended the job between the two steps: it is cancelled.
func TestCancel_TheMessageIsGone(t *testing.T) {
	s, q := fake(t, Config{})
	q.mayNotDelete.Store(true)
	s.stored = []*jetstream.RawStreamMsg{message(q, first, 9, nil)}
	s.publish = func(m *nats.Msg) error {
		if strings.HasSuffix(m.Subject, ".first") {
			s.stored = []*jetstream.RawStreamMsg{message(q, mark, 10, nats.Header{headerDone: {"1"}})}
			return refused
		}
		return nil
	}
	must(t, q.Cancel(t.Context(), "x"))
}

// A worker acknowledges the replacement of a cancelled job, and makes no attempt.
func TestCheck_Cancelled(t *testing.T) {
	s, q := fake(t, Config{})
	f := newFeed(q.attempts, 1)
	f.receive(job(q.backend, s, "x", first, 7, nats.Header{headerDone: {"1"}, headerRevived: {"1"}}))
	d := f.take()
	if got := q.check(t.Context(), d, false); got != skip || s.took() != "last dead; ack" {
		t.Errorf("the verdict is %v", got)
	}
}

// Cancel waits half a lease for the worker that has the job, if the job was delivered and a worker may be there.
func TestCancel_Withdraws(t *testing.T) {
	for name, test := range map[string]struct {
		delivered uint64
		fails     error
		ends      time.Duration // of ctx
		took      time.Duration
		want      error
	}{
		"never delivered":                 {delivered: 8},
		"delivered":                       {delivered: 9, took: 15 * time.Second},
		"nobody knows":                    {fails: errNo, took: 15 * time.Second},
		"the context ends before":         {delivered: 9, ends: time.Second, took: time.Second, want: context.DeadlineExceeded},
		"the context ends at that moment": {delivered: 9, ends: 15*time.Second + 1, took: 15 * time.Second},
	} {
		bubble(t, name, func(t *testing.T) {
			s := &server{fails: map[string]error{"info of first": test.fails}}
			q := fakeQueue(t, s, Config{})
			_, fresh := addConsumers(q, s)
			fresh.now.Delivered.Stream = test.delivered
			q.nc = connected(t, s)
			ctx, began := t.Context(), time.Now()
			if test.ends > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, test.ends)
				defer cancel()
			}
			s.stored = []*jetstream.RawStreamMsg{message(q, first, 9, nil)}
			err := q.Cancel(ctx, "x")
			if !errors.Is(err, test.want) || (err == nil) != (test.want == nil) || time.Since(began) != test.took {
				t.Errorf("got %v after %v, want %v after %v", err, time.Since(began), test.want, test.took)
			}
			if err != nil && !strings.HasPrefix(err.Error(), `durable: cancel: job "x": it is cancelled, but a worker that has not responded may still begin an attempt: `) {
				t.Error(err)
			}
			q.nc.Close()
		})
	}
}

// What a handler reports of a job that was cancelled is refused.
func TestAbandon(t *testing.T) {
	s, q := fake(t, Config{})
	job, left := q.newJob(deliver(q, s, first, nil)), 0
	job.leave = func() { left++ }
	job.abandon()
	job.abandon()
	if err := job.Done(); !errors.Is(err, ErrSettled) || err.Error() != "durable: done: job x: the attempt is settled already" || left != 1 || s.took() != "" {
		t.Errorf("got %v, left %d times", err, left)
	}
	if len(q.leases.all) > 0 {
		t.Error("the queue still has it")
	}
}

// A delivery whose job was cancelled is not attempted here, and the context of a handler that has it ends.
func TestLook(t *testing.T) {
	for name, test := range map[string]struct {
		last      func(q *Queue) *jetstream.RawStreamMsg
		fails     error
		withdrawn bool
	}{
		"cancelled":         {last: func(q *Queue) *jetstream.RawStreamMsg { return message(q, mark, 9, nats.Header{headerDone: {"1"}}) }, withdrawn: true},
		"no longer known":   {last: func(*Queue) *jetstream.RawStreamMsg { return nil }, withdrawn: true},
		"claimed":           {last: func(q *Queue) *jetstream.RawStreamMsg { return message(q, mark, 9, nil) }},
		"ready":             {last: func(q *Queue) *jetstream.RawStreamMsg { return message(q, first, 7, nil) }},
		"it cannot be read": {fails: errNo},
	} {
		for _, at := range []string{"fetched ahead", "held", "attempted", "about to be attempted"} {
			s := &server{last: func(string) (*jetstream.RawStreamMsg, error) { return nil, test.fails }}
			q := fakeQueue(t, s, Config{})
			if test.last != nil {
				m := test.last(q)
				s.last = func(string) (*jetstream.RawStreamMsg, error) {
					if m == nil {
						return nil, jetstream.ErrMsgNotFound
					}
					return m, nil
				}
			}
			d := deliver(q, s, first, func(d *delivery) { d.held = at == "held" })
			ctx, stop := context.WithCancelCause(t.Context())
			if at == "attempted" && !q.leases.handle(d, stop) {
				t.Error("it is withdrawn before")
			}
			q.lookAtAttempts()
			q.cancelled(&nats.Msg{Data: []byte("other")})
			if d.withdrawn != (test.withdrawn && at == "attempted") {
				t.Errorf("%s, %s: nobody has asked, but it is withdrawn: %t", name, at, d.withdrawn)
			}
			q.cancelled(&nats.Msg{Data: []byte("x")})
			switch at {
			case "attempted":
				if got := context.Cause(ctx) == ErrCancelled; got != test.withdrawn {
					t.Errorf("%s, %s: the context ends: %t", name, at, got)
				}
			case "about to be attempted":
				if q.leases.handle(d, stop) == test.withdrawn {
					t.Errorf("%s, %s: the handler gets it: %t", name, at, !test.withdrawn)
				}
			default:
				if v := q.check(t.Context(), d, false); (v == skip) != test.withdrawn {
					t.Errorf("%s, %s: the verdict is %v", name, at, v)
				}
				if has := q.leases.all[d.seq] != nil; has == test.withdrawn {
					t.Errorf("%s, %s: the queue has it: %t", name, at, has)
				}
			}
		}
	}
}

// A worker that cannot read whether its job was cancelled does not respond.
func TestCancelled_ItCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		last error
		want string
	}{"done": {jetstream.ErrMsgNotFound, "last *; PUB responses"}, "no response": {nats.ErrTimeout, "last *"}} {
		s := &server{last: func(string) (*jetstream.RawStreamMsg, error) { return nil, test.last }}
		q := online(t, s, Config{})
		deliver(q, s, first, nil)
		sub, err := q.nc.Subscribe("cancel", q.cancelled)
		must(t, err)
		q.cancelled(&nats.Msg{Reply: "to.responses", Data: []byte("x"), Sub: sub})
		if err := q.nc.Flush(); err != nil || s.took() != test.want {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

// What Get makes of the last message of a job.
func TestGet(t *testing.T) {
	put, failed, due := time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), time.Date(2026, 1, 3, 3, 4, 5, 6, time.UTC), time.Date(2026, 1, 4, 3, 4, 5, 6, time.UTC)
	st := state{put: put, kind: "k", lastError: "no", due: due, retry: failures(3, failed)}
	whole := JobInfo{ID: "x", Kind: "k", Attempts: 3, LastError: "no", Put: put, FirstFailure: failed}
	with := func(s JobState, due time.Time) JobInfo { i := whole; i.State, i.Due = s, due; return i }
	for name, test := range map[string]struct {
		stage  stage
		header nats.Header
		want   JobInfo
	}{
		"put without an id":           {first, nil, JobInfo{ID: "x", State: StateReady}},
		"waits":                       {later, st.header(), with(StateLater, due)},
		"its time has come":           {again, st.header(), with(StateReady, time.Time{})},
		"in a worker":                 {mark, st.header(), with(StateRunning, due)},
		"done":                        {mark, nats.Header{headerDone: {"1"}, headerPut: {formatTime(put)}}, JobInfo{ID: "x", State: StateDone, Put: put}},
		"dead":                        {dead, st.header(), with(StateDead, time.Time{})},
		"cancelled, not acknowledged": {first, nats.Header{headerDone: {"1"}}, JobInfo{ID: "x", State: StateDone}},
	} {
		s, q := fake(t, Config{})
		s.stored = []*jetstream.RawStreamMsg{message(q, test.stage, 9, test.header)}
		if got, err := q.Get(t.Context(), "x"); err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, test.want)
		}
	}
	s, q := fake(t, Config{})
	if got, err := q.Get(t.Context(), "x"); !errors.Is(err, ErrNotFound) || got != (JobInfo{}) || err.Error() != `durable: get: job "x": not found` {
		t.Errorf("got %+v, %v", got, err)
	}
	s.last = func(string) (*jetstream.RawStreamMsg, error) { return nil, nats.ErrTimeout }
	if _, err := q.Get(t.Context(), "x"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

func (f fakeStream) PauseConsumer(ctx context.Context, name string, until time.Time) (*jetstream.ConsumerPauseResponse, error) {
	if until.IsZero() {
		return nil, f.s.call(ctx, "resume %s", name)
	}
	return nil, f.s.call(ctx, "pause %s until %s", name, until.Format(time.DateOnly))
}

func TestPause_Consumers(t *testing.T) {
	until := time.Date(2526, 1, 2, 0, 0, 0, 0, time.UTC)
	s, q := fakeOnline(t, Config{})
	if err := q.Pause(t.Context(), until); err != nil || s.took() != "pause again until 2526-01-02; pause first until 2526-01-02" {
		t.Errorf("Pause: %v", err)
	}
	if err := q.Unpause(t.Context()); err != nil || s.took() != "resume again; resume first" {
		t.Errorf("Unpause: %v", err)
	}
	if err := q.Pause(t.Context(), time.Unix(0, 0).UTC()); err == nil || err.Error() != "durable: pause: until is 1970-01-01T00:00:00Z, want a time in the future" || s.took() != "" {
		t.Errorf("in the past: %v", err)
	}
	s.fails = map[string]error{"resume first": nats.ErrPermissionViolation, "info of first": nats.ErrTimeout}
	if err := q.Unpause(t.Context()); !errors.Is(err, ErrRefused) || s.took() != "resume again; resume first" {
		t.Errorf("refused: %v", err)
	}
	if _, err := q.Paused(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("Paused: %v", err)
	}
	s.fails = nil
	_, fresh := addConsumers(q, s)
	if at, err := q.Paused(t.Context()); err != nil || !at.IsZero() {
		t.Errorf("Paused: %v, %v", at, err)
	}
	fresh.now.Paused, fresh.now.Config.PauseUntil = true, &until
	if at, err := q.Paused(t.Context()); err != nil || !at.Equal(until) {
		t.Errorf("Paused: %v, %v", at, err)
	}
}

package durable

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// A hook that panics is logged: the job has ended, and the worker goes on.
func TestCallEndHooks_APanic(t *testing.T) {
	s, q := fake(t, Config{Policy: retry.Default.With(retry.OnDone(func(context.Context, retry.Result) { panic("no") }))})
	must(t, q.newJob(deliver(q, s, first, nil)).Done())
	s.did(t, "put mark; ack; log: a hook of the policy panicked")
}

// A round that has succeeded ends the operation of its failures, and the next one begins without them.
func TestAgain(t *testing.T) {
	for name, test := range map[string]struct {
		publish error
		revoked bool // another worker has the job
		want    error
		did     string
	}{
		"stored":                {did: "put later; ack; recovered after 2; done: <nil>"},
		"another worker has it": {publish: refused, did: "put later; last *"},
		"not stored": {publish: nats.ErrPermissionViolation, want: ErrRefused,
			did: "put later; log: the outcome of an attempt could not be stored, the job is handed back; nak in 3600s"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &server{publish: func(*nats.Msg) error { return test.publish }}
			q := fakeQueue(t, s, Config{Policy: retry.New(backoff.Constant(time.Minute), retry.Limit(2),
				retry.OnRecovered(func(_ context.Context, r retry.Recovery) { s.note("recovered after %d", r.Retries) }),
				retry.OnDone(func(_ context.Context, r retry.Result) { s.note("done: %v", r.Err) }))})
			d := deliver(q, s, again, func(d *delivery) {
				op := q.operation(t.Context(), &d.state)
				for range 2 {
					if _, end := op.Failed(retry.Outcome{Err: errNo}); end != nil {
						t.Fatal(end)
					}
				}
				d.state.retry, d.state.lastError, d.state.position = op.State(), "no", []byte("42")
			})
			d.state.user = nats.Header{"A": {"b"}}
			job := q.newJob(d)
			if err := job.Again(time.Hour); test.want == nil && err != nil || !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
			if got := strings.ReplaceAll(s.took(), "1h0m0s", "3600s"); got != test.did {
				t.Errorf("it did %q, want %q", got, test.did)
			}
			if err := job.Done(); !errors.Is(err, ErrSettled) {
				t.Errorf("Done after Again: %v", err)
			}
			h := s.lastSent().Header
			next := readState(h)
			if _, has := h[headerError]; has || next.retry.Attempts() != 0 || next.user.Get("A") != "b" || string(next.position) != "42" || !next.put.Equal(d.put) {
				t.Errorf("the next round begins with %v", h)
			}
			if wait := time.Until(next.due); wait < 59*time.Minute || wait > time.Hour {
				t.Errorf("it is due in %v, want an hour", wait)
			}
		})
	}
	panics(t, "durable: Again: d is -1ns, want at least 0", func() { new(Job).Again(-1) })
}

// A Job that no server has delivered can be reported, in the test of a handler.
func TestAJobOfATest(t *testing.T) {
	for name, report := range map[string]func(*Job) error{"Done": (*Job).Done, "Fail": func(j *Job) error { return j.Fail(errNo) },
		"Fail of nil": func(j *Job) error { return j.Fail(nil) }, "Again": func(j *Job) error { return j.Again(time.Hour) }} {
		job := Job{ID: "x", Data: []byte("data")}
		if err := report(&job); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := report(&job); !errors.Is(err, ErrSettled) {
			t.Errorf("%s, a second time: %v, want ErrSettled", name, err)
		}
	}
}

// The hooks of a job that was given up get the time since the attempt began, if it is the first.
func TestGiveUp_Hooks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := new(server)
		var results []retry.Result
		q := fakeQueue(t, s, Config{Policy: retry.New(backoff.Backoff{}, retry.Limit(0),
			retry.OnDone(func(_ context.Context, r retry.Result) { results = append(results, r) }))})
		q.nc = connected(t, s)
		job := q.newJob(deliver(q, s, first, nil))
		time.Sleep(3 * time.Second)
		must(t, job.Fail(errors.New("no")))
		if len(results) != 1 || results[0].Elapsed != 3*time.Second || results[0].Err == nil {
			t.Errorf("OnDone got %+v, want 3s", results)
		}
		q.nc.Close()
	})
}

func TestHandle(t *testing.T) {
	q := fakeQueue(t, new(server), Config{})
	if q.kinds.any() {
		t.Error("a queue without Handle handles kinds")
	}
	var called string
	handler := func(name string) func(context.Context, *Job) error {
		return func(context.Context, *Job) error { called += name; return nil }
	}
	own := retry.Default.With(retry.Limit(1), retry.AttemptTimeout(time.Hour))
	q.Handle("own", own, handler("own"))
	q.Handle("default", retry.Policy{}, handler("default"))
	q.Handle("untimed", retry.Default, handler("untimed"))
	if k, _ := q.kinds.all.Load("untimed"); k.(kind).policy == retry.Default {
		t.Error("a policy without an AttemptTimeout gets none")
	}
	if !q.kinds.any() {
		t.Error("it handles no kinds")
	}
	for name, want := range map[string]retry.Policy{"own": own, "default": q.config.Policy, "other": q.config.Policy} {
		if q.kindOf(name, nil).policy != want {
			t.Errorf("%s has another policy", name)
		}
	}
	for _, name := range []string{"own", "default", "other"} {
		called = ""
		q.kindOf(name, handler("other")).handler(t.Context(), nil)
		if called != name {
			t.Errorf("%s went to %s", name, called)
		}
	}
	if q.kindOf("other", nil).handler != nil {
		t.Error("a kind without a handler has one")
	}
	for want, handle := range map[string]func(){
		`durable: Handle: kind is "a b", want 1 to 64 letters, digits, - or _`: func() { q.Handle("a b", own, handler("")) },
		`durable: Handle: handler is nil`:                                      func() { q.Handle("new", own, nil) },
		`durable: Handle: kind "own" has a handler already`:                    func() { q.Handle("own", own, handler("")) },
	} {
		panics(t, want, handle)
	}
}

// A success refunds the budget of the job's kind, not that of the queue.
func TestDone_RefundsTheKindsBudget(t *testing.T) {
	s := new(server)
	own, queues := retry.NewBudget(10, 1, 1), retry.NewBudget(10, 1, 1)
	own.Add(-5)
	queues.Add(-5)
	q := fakeQueue(t, s, Config{Policy: retry.Default.With(retry.WithBudget(queues))})
	q.Handle("k", retry.Default.With(retry.WithBudget(own)), noHandler)
	d := deliver(q, s, first, func(d *delivery) { d.state.kind = "k" })
	must(t, q.newJob(d).Done())
	if own.Tokens() != 6 || queues.Tokens() != 5 {
		t.Errorf("the kind's budget has %v tokens, the queue's %v, want 6 and 5", own.Tokens(), queues.Tokens())
	}
}

// A kind that has no handler is handed back for a moment, and logged once a minute.
func TestUnknownKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, q := fake(t, Config{})
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

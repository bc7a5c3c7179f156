package durable

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// A hook that panics is logged: the job has ended, and the worker goes on.
func TestCallEndHooks_APanic(t *testing.T) {
	s := new(server)
	q := fakeQueue(t, s, Config{Policy: retry.Default.With(retry.OnDone(func(context.Context, retry.Result) { panic("no") }))})
	if err := q.newJob(deliver(q, s, first, nil)).Done(); err != nil {
		t.Error(err)
	}
	if got := s.took(); got != "put mark; ack; log: a hook of the policy panicked" {
		t.Errorf("it did %q", got)
	}
}

// An outcome that is not stored calls no hook.
func TestDone_NotStored(t *testing.T) {
	for name, publish := range map[string]error{"another worker has the job": refused, "the server refuses": errNo} {
		s := &server{publish: func(*nats.Msg) error { return publish }}
		q := fakeQueue(t, s, Config{Policy: retry.Default.With(retry.OnDone(func(context.Context, retry.Result) { t.Errorf("%s: OnDone is called", name) }))})
		if err := q.newJob(deliver(q, s, first, nil)).Done(); err == nil {
			t.Errorf("%s: got nil, want an error", name)
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
		if err := job.Fail(errors.New("no")); err != nil {
			t.Error(err)
		}
		if len(results) != 1 || results[0].Elapsed != 3*time.Second || results[0].Err == nil {
			t.Errorf("OnDone got %+v, want 3s", results)
		}
		q.nc.Close()
	})
}

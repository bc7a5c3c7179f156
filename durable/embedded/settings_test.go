package embedded_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/retry"
)

// A process with another MaxDead does not delete the dead letters of the first one: Open refuses it. A process that
// leaves the settings open takes those of the queue.
func TestTheSettingsAreTheQueues(t *testing.T) {
	t.Parallel()
	srv := start(t)
	policy := retry.New(backoff.Backoff{}, retry.Limit(0))
	q := open(t, srv, durable.Config{Policy: policy, MaxDead: 30})
	for _, other := range []durable.Config{{Name: "q", MaxDead: 10}, {Name: "q", Lease: time.Minute}, {Name: "q", Remember: time.Hour},
		{Name: "q", KeepDead: time.Hour}, {Name: "q", MaxCrashes: 2}} {
		if _, err := durable.Open(t.Context(), connect(t, srv), other); !errors.Is(err, durable.ErrOtherConfig) || !strings.Contains(err.Error(), "want ") {
			t.Errorf("%+v: got %v, want ErrOtherConfig", other, err)
		}
	}
	other := open(t, srv, durable.Config{Policy: policy})
	work(t, other, 4, func(context.Context, *durable.Job) error { return errors.New("no") })
	for range 20 {
		put(t, q, "")
	}
	eventually(t, "all are dead", func() bool { return other.Counts().Died == 20 })
	open(t, srv, durable.Config{Policy: policy, MaxDead: 10, Update: true})
	if s, err := stats(t, open(t, srv, durable.Config{MaxDead: 10})); err != nil || s.Dead != 20 {
		t.Errorf("got %v, %v, want 20 dead letters", s, err)
	}
}

// The lease is changed to a much shorter one while attempts run. Their worker extends its leases in time from then on, so
// no attempt is repeated.
func TestAShorterLease(t *testing.T) {
	t.Parallel()
	srv := start(t)
	q := open(t, srv, durable.Config{Lease: 8 * time.Second})
	var attempts atomic.Int64
	release := make(chan struct{})
	handler := func(context.Context, *durable.Job) error { attempts.Add(1); <-release; return nil }
	defer close(release)
	work(t, q, 4, handler)
	for range 4 {
		put(t, q, "")
	}
	eventually(t, "they have begun", func() bool { return attempts.Load() == 4 })
	other := open(t, srv, durable.Config{Lease: 2 * time.Second, Update: true})
	work(t, other, 4, handler)
	time.Sleep(5 * time.Second) // more than two of the new leases
	if n := attempts.Load(); n != 4 {
		t.Errorf("%d attempts at 4 jobs", n)
	}
	open(t, srv, durable.Config{Lease: time.Minute, Remember: time.Minute, Update: true})
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	_, err := durable.Open(ctx, connect(t, srv), durable.Config{Name: "q", Lease: time.Second, Update: true})
	if err == nil || !strings.Contains(err.Error(), "shorten Config.Lease from 1m0s to 1s: that takes 16s, want a ctx with a later deadline") {
		t.Errorf("without the time for it: %v", err)
	}
}

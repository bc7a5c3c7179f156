package durable

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func (f fakeStream) PauseConsumer(ctx context.Context, name string, until time.Time) (*jetstream.ConsumerPauseResponse, error) {
	return nil, f.s.call(ctx, "pause %s until %s", name, until.Format(time.DateOnly))
}

func (f fakeStream) ResumeConsumer(ctx context.Context, name string) (*jetstream.ConsumerPauseResponse, error) {
	return nil, f.s.call(ctx, "resume %s", name)
}

func TestPause_Consumers(t *testing.T) {
	until := time.Date(2526, 1, 2, 0, 0, 0, 0, time.UTC)
	s := new(server)
	q := fakeQueue(t, s, Config{})
	q.nc = connected(t, s)
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

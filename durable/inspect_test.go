package durable

import (
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

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
		s := new(server)
		q := fakeQueue(t, s, Config{})
		s.stored = []*jetstream.RawStreamMsg{message(q, test.stage, 9, test.header)}
		if got, err := q.Get(t.Context(), "x"); err != nil || got != test.want {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, test.want)
		}
	}
	s := new(server)
	q := fakeQueue(t, s, Config{})
	if got, err := q.Get(t.Context(), "x"); !errors.Is(err, ErrNotFound) || got != (JobInfo{}) || err.Error() != `durable: get: job "x": not found` {
		t.Errorf("got %+v, %v", got, err)
	}
	s.last = func(string) (*jetstream.RawStreamMsg, error) { return nil, nats.ErrTimeout }
	if _, err := q.Get(t.Context(), "x"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("got %v", err)
	}
}

package durable

import (
	"context"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// JobState is the state of a job, by the last message that is stored of it.
type JobState string

const (
	// StateReady: the job waits for a worker, or a worker has it in an attempt that was not claimed.
	StateReady JobState = "ready"
	// StateLater: the job's time has not come.
	StateLater JobState = "later"
	// StateRunning: an attempt was claimed, or the job waits in a worker for less than a second.
	StateRunning JobState = "running"
	// StateDone: the job is done, was cancelled or was forgotten, less than Config.Remember ago.
	StateDone JobState = "done"
	// StateDead: the job is a dead letter.
	StateDead JobState = "dead"
)

// ended reports whether the job is not attempted again, unless it is revived.
func (s JobState) ended() bool { return s == StateDone || s == StateDead }

// JobInfo is what the server has stored of a job.
type JobInfo struct {
	ID    string
	State JobState
	Kind  string
	// Attempts is the number of failed attempts, LastError the text of the last failure.
	Attempts  int
	LastError string
	// Due is when the next attempt may start, zero if it may start at once or there is none.
	Due time.Time
	// Put is when the job was put with an id, by PutAt or before its first failure, and FirstFailure when its first
	// attempt failed; else they are zero. A job that is done has only Put.
	Put, FirstFailure time.Time
}

// Get returns what is known of the job with this id. It sends one request. It returns an error that matches ErrNotFound
// if there is no job with this id, or if it has ended and is no longer remembered. A job that was put without an id may
// be gone as soon as it is done.
func (q *Queue) Get(ctx context.Context, id string) (JobInfo, error) {
	what := "get: job " + strconv.Quote(id)
	m, err := q.lastOf(ctx, id)
	switch {
	case err != nil:
		return JobInfo{}, explain(what, err)
	case m == nil:
		return JobInfo{}, &failure{what, ErrNotFound, nil, ""}
	}
	s := readState(m.Header)
	i := JobInfo{ID: id, State: q.config.stateOf(m), Kind: s.kind, Attempts: s.retry.Attempts(), Put: s.put, FirstFailure: s.retry.FirstFailure()}
	if s.retry.Attempts() > 0 {
		i.LastError = s.lastError
	}
	if i.State == StateLater || i.State == StateRunning {
		i.Due = s.due
	}
	return i, nil
}

// stateOf returns the state of a job whose last message is m.
func (c *Config) stateOf(m *jetstream.RawStreamMsg) JobState {
	_, s, _ := c.parseSubject(m.Subject)
	switch {
	case get(m.Header, headerDone) != "":
		return StateDone
	case s == dead:
		return StateDead
	case s == later:
		return StateLater
	case s == mark:
		return StateRunning
	}
	return StateReady
}

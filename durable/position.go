package durable

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// maxPosition is the maximum size of a position as JSON.
const maxPosition = 1 << 10

// positionTTL is how long a mark with a position is kept.
const positionTTL = 30 * 24 * time.Hour

// Resume returns a stream for use in an attempt at a job that goes on where the effects of earlier attempts have
// stopped, in whatever worker. It runs open(at), where at is start in the job's first attempt and after(at, v) once the
// consumer has taken v; in later attempts, it is the position that was stored with the last failure, snooze or
// hand-back. So a job that copies a million rows continues at the row at which it has failed.
//
//	stored:   –
//	attempt 1: open(0): 1---2---3---X    stored: 3
//	attempt 2: open(3): 4---5---|
//
// A position is stored as JSON of at most 1 KiB, with the outcome of the attempt: nothing is stored in between. After a
// crash of the worker, the next attempt begins at the position that was stored last, and values since then come again.
// So handlers must be idempotent, as always. A position that has no JSON or is larger is not stored: that is logged,
// and the next attempt begins at the position stored before. If the stored position is not one of type P, the stream
// fails with an error. A job has one position: use Resume once in a handler. A revived job keeps its position.
//
// If the stream is run again in the same attempt, it goes on where the last run has stopped. Values must come in the
// order of their positions, as in operators.Resume. Resume panics when job, open or after is nil.
func Resume[T, P any](job *Job, start P, open func(at P) stream.Stream[T], after func(at P, v T) P) stream.Stream[T] {
	switch {
	case job == nil:
		panic("durable: Resume: job is nil")
	case open == nil:
		panic("durable: Resume: open is nil")
	case after == nil:
		panic("durable: Resume: after is nil")
	}
	return func(ctx context.Context, yield func(T) bool) error {
		p, err := positionOf(job, start)
		if err != nil {
			return err
		}
		source := open(p.get())
		if source == nil {
			return stream.Permanent(fmt.Errorf("durable: resume: job %s: open returned a nil stream", job.ID))
		}
		return source(ctx, func(v T) bool {
			if !yield(v) {
				return false
			}
			p.set(after(p.get(), v))
			return true
		})
	}
}

// position is the position of a job in this process. It may be read by another goroutine, when Work ends.
type position[P any] struct {
	mu    sync.Mutex
	at    P
	moved bool
}

func (p *position[P]) get() P {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.at
}

func (p *position[P]) set(at P) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.at, p.moved = at, true
}

// text returns the position as JSON, nil if it has not moved.
func (p *position[P]) text() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.moved {
		return nil, nil
	}
	text, err := json.Marshal(p.at)
	if err == nil && len(text) > maxPosition {
		err = fmt.Errorf("the position has %d bytes as JSON, want at most %d", len(text), maxPosition)
	}
	return text, err
}

// positionOf returns the job's position: that of an earlier run in this attempt, else the one that is stored, else
// start.
func positionOf[P any](job *Job, start P) (*position[P], error) {
	job.mu.Lock()
	defer job.mu.Unlock()
	if p, ok := job.position.(*position[P]); ok {
		return p, nil
	}
	p := &position[P]{at: start}
	if job.d != nil && len(job.d.state.position) > 0 { // with which the attempt began
		var at P
		stored := job.d.state.position
		if err := json.Unmarshal(stored, &at); err != nil {
			return nil, fmt.Errorf("durable: resume: job %s: the stored position %.100s is not a %T: %w", job.ID, stored, start, err)
		}
		p.at = at
	}
	job.position = p
	return p, nil
}

// takePosition puts the present position into the state that the next step stores.
func (j *Job) takePosition() {
	j.mu.Lock()
	p := j.position
	j.mu.Unlock()
	if p == nil {
		return
	}
	switch text, err := p.text(); {
	case err != nil:
		j.a.config.Logger.Error("the position of a job cannot be stored, its next attempt begins at the one before", "id", j.ID, "error", err)
	case text != nil:
		j.d.state.position, j.d.moved = text, true
	}
}

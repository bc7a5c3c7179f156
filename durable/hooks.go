package durable

import (
	"context"
	"errors"
	"time"
)

// over calls the policy's hooks for a job that has ended, when its outcome is stored: OnRecovered, if err is nil after
// failures, and OnDone. began is when the last attempt began. A hook that panics is reported to the Logger: the job
// has ended.
func (q *Queue) over(ctx context.Context, s *state, began time.Time, err error) {
	policy := q.policyOf(s.kind)
	if !policy.Observes() {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			q.config.Logger.Error("a hook has panicked", "queue", q.config.Name, "panic", v)
		}
	}()
	now, attempts := time.Now(), s.row.Attempts
	if err == nil {
		if attempts > 0 {
			policy.Recovered(ctx, errors.New(s.lastError), attempts, now.Sub(s.row.First))
		}
		attempts++
	}
	if first := s.row.First; s.row.Attempts > 0 && first.Before(began) {
		began = first
	}
	policy.Done(ctx, attempts, now.Sub(began), err)
}

package durable

import (
	"context"
	"errors"
	"time"
)

// callEndHooks calls the policy's hooks for a job whose final outcome is stored: OnRecovered, if err is nil after
// failures, and OnDone. began is when the last attempt began. If a hook panics, that is only logged, because the job
// has ended.
func (q *Queue) callEndHooks(ctx context.Context, s *state, began time.Time, err error) {
	policy := q.policyOf(s.kind)
	if !policy.Observes() {
		return
	}
	defer func() {
		if v := recover(); v != nil {
			q.config.Logger.Error("a hook of the policy panicked", "queue", q.config.Name, "panic", v)
		}
	}()
	now, attempts := time.Now(), s.retry.Attempts
	if err == nil {
		if attempts > 0 {
			policy.Recovered(ctx, errors.New(s.lastError), attempts, now.Sub(s.retry.First))
		}
		attempts++
	}
	if first := s.retry.First; s.retry.Attempts > 0 && first.Before(began) {
		began = first
	}
	policy.Done(ctx, attempts, now.Sub(began), err)
}

package durable

import (
	"context"
	"errors"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// operation returns the operation of a job whose failures before are in s. hooks is the context of the policy's hooks;
// its end does not end the operation.
func (q *Queue) operation(hooks context.Context, s *state) retry.Operation {
	var last error
	if s.lastError != "" {
		last = errors.New(s.lastError)
	}
	return q.policyOf(s.kind).Continue(context.WithoutCancel(hooks), s.retry, last)
}

// over ends the operation of a job whose final outcome is stored: it calls the policy's hooks. began is when the last
// attempt began. If a hook panics, that is only logged, because the job has ended.
func (q *Queue) over(op *retry.Operation, began time.Time, err error) {
	defer func() {
		if v := recover(); v != nil {
			q.config.Logger.Error("a hook of the policy panicked", "queue", q.config.Name, "panic", v)
		}
	}()
	now := q.now()
	_ = op.Done(retry.Outcome{Err: err, Lasted: now.Sub(began), At: now})
}

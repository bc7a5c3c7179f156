package durable

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// kind holds the policy and the handler of one kind of jobs.
type kind struct {
	policy  retry.Policy
	handler func(context.Context, *Job) error
}

// Handle sets the handler that Work calls for jobs of a kind (PutKind), and the policy that decides about their
// failures. The zero Policy means the queue's policy. Every process that works must call Handle for every kind, before
// Work. Jobs of a kind without a handler go to Work's handler; if that is nil, they are handed back for a second, then for
// longer, up to a lease. Handle panics when name is not a valid kind or has a handler already, and when handler is nil.
func (q *Queue) Handle(name string, policy retry.Policy, handler func(context.Context, *Job) error) {
	if !validName.MatchString(name) {
		panic(fmt.Sprintf("durable: Handle: kind is %q, want 1 to 64 letters, digits, - or _", name))
	}
	if handler == nil {
		panic("durable: Handle: handler is nil")
	}
	policy = withPolicyDefaults(cmp.Or(policy, q.config.Policy))
	if _, is := q.kinds.LoadOrStore(name, kind{policy, handler}); is {
		panic(fmt.Sprintf("durable: Handle: kind %q has a handler already", name))
	}
}

// unknownKind hands back a job whose kind has no handler: for a second, then for longer each time, up to a lease. It logs
// a kind once a minute.
func (q *Queue) unknownKind(job *Job) {
	now := time.Now()
	if last, logged := q.strange.Load(job.Kind); !logged || now.Sub(last.(time.Time)) >= time.Minute {
		q.strange.Store(job.Kind, now)
		q.config.Logger.Error("a job's kind has no handler here, such jobs are handed back", "queue", q.config.Name, "id", job.ID, "kind", job.Kind)
	}
	job.handBack(min(time.Second<<min(job.d.deliveries-1, 20), q.lease()))
}

// policyOf returns the policy for jobs of a kind.
func (q *Queue) policyOf(name string) retry.Policy {
	if k, ok := q.kinds.Load(name); ok {
		return k.(kind).policy
	}
	return q.config.Policy
}

// handlerOf returns the handler for jobs of a kind.
func (q *Queue) handlerOf(name string, otherwise func(context.Context, *Job) error) func(context.Context, *Job) error {
	if k, ok := q.kinds.Load(name); ok {
		return k.(kind).handler
	}
	return otherwise
}

func (q *Queue) handlesKinds() (some bool) {
	q.kinds.Range(func(any, any) bool { some = true; return false })
	return some
}

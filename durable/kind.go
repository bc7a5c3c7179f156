package durable

import (
	"context"
	"fmt"

	"github.com/retrywhen/retrywhen/internal/engine"
	"github.com/retrywhen/retrywhen/retry"
)

// kind is what is done with the jobs of one kind.
type kind struct {
	policy  engine.Policy[retry.State]
	handler func(context.Context, *Job) error
}

// Handle has Work call handler for jobs of the kind (PutKind), and has policy decide about their failures; the zero
// Policy is the queue's. It is to be called before Work, and for every kind in every process that works: a job whose
// kind has no handler, where Work has none for the others, is handed back for a lease. Handle panics when kind is no
// word that PutKind takes or has a handler already, or when handler is nil.
func (q *Queue) Handle(name string, policy retry.Policy, handler func(context.Context, *Job) error) {
	if !validName.MatchString(name) {
		panic(fmt.Sprintf("durable: Handle: kind is %q, want 1 to 64 letters, digits, - or _", name))
	}
	if handler == nil {
		panic("durable: Handle: handler is nil")
	}
	if policy == (retry.Policy{}) {
		policy = q.config.Policy
	}
	if _, is := q.kinds.LoadOrStore(name, kind{engine.Of[retry.State](policy), handler}); is {
		panic(fmt.Sprintf("durable: Handle: kind %q has a handler already", name))
	}
}

// policyOf returns the policy for jobs of the kind.
func (q *Queue) policyOf(name string) engine.Policy[retry.State] {
	if k, ok := q.kinds.Load(name); ok {
		return k.(kind).policy
	}
	return engine.Of[retry.State](q.config.Policy)
}

// handlerOf returns the handler for jobs of the kind.
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

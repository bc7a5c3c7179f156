package durable

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// Handle sets the handler that Work calls for jobs of a kind (PutKind), and the policy that decides about their
// failures. The zero Policy means the queue's policy. Every process that works must call Handle for every kind, before
// Work. Jobs of a kind without a handler go to Work's handler; if that is nil, they are handed back for 0.1 to 0.3 s
// each time. Handle panics when name is not a valid kind or has a handler already, and when handler is nil.
func (q *Queue) Handle(name string, policy retry.Policy, handler func(context.Context, *Job) error) {
	if !validName.MatchString(name) {
		panic(fmt.Sprintf("durable: Handle: kind is %q, want 1 to 64 letters, digits, - or _", name))
	}
	if handler == nil {
		panic("durable: Handle: handler is nil")
	}
	policy = withPolicyDefaults(cmp.Or(policy, q.config.Policy))
	if _, is := q.kinds.all.LoadOrStore(name, kind{policy, handler}); is {
		panic(fmt.Sprintf("durable: Handle: kind %q has a handler already", name))
	}
}

// unknownKind hands back a job whose kind has no handler here, for a moment: another process gets it if it has one. It
// logs a kind once a minute.
func (a *attempts) unknownKind(ctx context.Context, d *delivery) {
	now := time.Now()
	if last, logged := a.kinds.strange.Load(d.state.kind); !logged || now.Sub(last.(time.Time)) >= time.Minute {
		a.kinds.strange.Store(d.state.kind, now)
		a.config.Logger.Error("a job's kind has no handler here, such jobs are handed back", "id", d.id, "kind", d.state.kind)
	}
	a.handBack(ctx, d, min(time.Duration(d.deliveries), 3)*100*time.Millisecond)
}

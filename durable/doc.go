// Package durable is a job queue that retries by a retry.Policy and survives its processes: the jobs, the waits between
// their attempts and what each has been through are kept by NATS JetStream, in the same process (the module
// durable/embedded) or in a cluster.
//
//	nc, err := nats.Connect("nats://n1,nats://n2,nats://n3", nats.MaxReconnects(-1)) // or embedded.Server's Connect
//	...
//	q, err := durable.Open(ctx, nc, durable.Config{Name: "mail", Policy: policy})
//	...
//	id, err := q.Put(ctx, letter)
//	...
//	err = q.Work(ctx, 16, func(ctx context.Context, job *durable.Job) error {
//		return send(ctx, job.Data)
//	})
//
// # What it promises
//
// A job that Put has answered for is stored. It is then attempted until an attempt returns nil, or until the policy
// gives up and the job is a dead letter; it is never lost between the two, whichever process is killed when. An error
// decides as in retry.Do: the predicate, Permanent, RetryAfter, limits and budgets mean the same.
//
// Attempts are made at least once: an attempt runs again when its process, its connection or the server died before the
// outcome was stored. What a handler does must therefore be idempotent; Job.ID is the same in all of a job's attempts
// and is what to make it idempotent with. However often that happens, and whoever comes back late: a job is done or
// dead, never both, and a job that was put with an id is one job for as long as the id is known.
//
// No retry comes earlier than its delay, by the clocks of the machines. It may come later: when all workers are busy,
// when none is there, and up to about a quarter of a second when the server keeps the wait.
//
// # Words
//
//   - lease: the time after which a job whose worker has gone silent is given to another one.
//   - hand back: to return a job unattempted, at once.
//   - later: a job whose time has not come.
//   - dead letter: a job that was given up.
//
// # How it works
//
// A queue is one stream, and a job has subjects of its own in it, with at most one message on each:
//
//	retrywhen.<name>.job.<id>.first  what Put has stored
//	retrywhen.<name>.job.<id>.later  the job with its schedule: the server publishes it as again at its time
//	retrywhen.<name>.job.<id>.again  the job when its time has come
//	retrywhen.<name>.job.<id>.mark   what is known beyond these: the job is done, or an attempt is being made
//	retrywhen.<name>.job.<id>.dead   a dead letter
//
// Every step in a job's life is one publication, or two in an atomic batch, on the condition that the job's last
// message, on whichever of its subjects, is the one that the step goes on from. So of all who have the job one makes
// the step, and the others learn that the job has moved on. What a decision needs, the job's retry.State, travels in a
// header in its text form. The delivery is acknowledged only when the step is stored. docs/durable.md has the table of
// steps and of crashes.
package durable

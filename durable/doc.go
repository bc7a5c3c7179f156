// Package durable is a job queue that retries by a retry.Policy and survives the end of its processes. NATS JetStream
// stores the jobs, the waits between their attempts and their retry states. It runs in the same process (the module
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
// # Guarantees
//
// When Put returns without an error, the job is stored. It is then attempted until an attempt returns nil, or until the
// policy gives up and the job becomes a dead letter. It is not lost in between, whichever process is killed and when,
// unless Config.InMemory is set; docs/durable.md says what holds for machines, disks and networks. Errors of attempts
// mean the same as in retry.Do: the predicate, Permanent, RetryAfter, limits and budgets.
//
// Attempts are made at least once: an attempt runs again if its process, its connection or the server died before the
// outcome was stored. Handlers must therefore be idempotent. Job.ID is the same in all attempts of a job and serves as
// the idempotency key. A job is done or dead, not both, however often attempts are repeated and however late a worker
// comes back, apart from the gaps in docs/durable-protocol.md. A job that was put with an id is one job for as long as
// the id is known.
//
// No retry starts before its delay is over, by the clock of the server; a worker's clock may differ by up to a second.
// It may start later: while all workers are busy, while none is running, and by up to about a quarter of a second when
// the server keeps the wait.
//
// # Terms
//
//   - lease: the time after which the jobs of a silent worker are delivered to other workers.
//   - hand back: to return a job to the server for another attempt; the current one is not counted.
//   - later: the stage of a job whose time has not come.
//   - dead letter: a job that was given up.
//
// # How it works
//
// A queue is one stream. Each job has its own subjects, with at most one message on each:
//
//	retrywhen.<name>.job.<id>.first  the job, as Put has stored it
//	retrywhen.<name>.job.<id>.later  the job with its schedule: the server publishes it as again at its time
//	retrywhen.<name>.job.<id>.again  the job when its time has come
//	retrywhen.<name>.job.<id>.mark   headers only: the job is done, is being attempted, or waits in a worker
//	retrywhen.<name>.job.<id>.dead   a dead letter
//
// Each step in a job's life is one publication. The server stores it only if the job's last message, on any of its
// subjects, is still the one that the step starts from. If several workers have the job, one of them makes the step,
// and the others learn that the job has moved on. The job's retry.State travels in a header in its text form. A
// delivery is acknowledged only after the step is stored. docs/durable-protocol.md has the tables of the steps and of
// the crashes.
package durable

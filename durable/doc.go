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
// docs/durable-protocol.md says how jobs are stored, and what each crash leaves.
package durable

// Package durable is a job queue that retries by a retry.Policy and survives its processes: the jobs, the waits between
// their attempts and what each has been through are kept by NATS JetStream, in the same process (the module
// durable/embedded) or in a cluster.
//
//	srv, err := embedded.Start("jobs")
//	...
//	q, err := durable.Open(ctx, durable.Config{Server: srv, Name: "mail", Policy: policy})
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
// Attempts are made at least once: an attempt runs again when its process, its connection or the server died before
// the outcome was stored. What a handler does must therefore be idempotent; Job.ID is the same in all of a job's
// attempts and is what to make it idempotent with.
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
// A queue is one work-queue stream and one stream of dead letters. The subjects are
//
//	retrywhen.<name>.run.first       what Put has stored
//	retrywhen.<name>.run.again.<id>  a job whose time has come (again)
//	retrywhen.<name>.later.<id>      a job with its schedule: the server publishes it at its time
//	retrywhen.<name>.dead.<id>       a dead letter
//
// The number of attempts, the time of the first failure and the previous delay travel in headers of the message, so
// any process can go on where another stopped. A retry is stored as a message schedule (Nats-Schedule, NATS 2.12), and
// only then is the delivery acknowledged. The publication carries a de-duplication id, made of the job, the attempt
// and the delivery's sequence, and is refused by the server when the job has moved on: two workers that hold the same
// job cannot double it. Waits of less than a second are held in the worker, its lease kept alive, since the server
// rounds them up.
package durable

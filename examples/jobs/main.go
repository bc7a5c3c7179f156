// Jobs sends 100,000 jobs to a flaky server, which is down for 10 s in the middle, and checks that no job is lost.
//
//	go run ./examples/jobs
//
// A job whose call failed waits for its delay while the workers continue with other jobs. There is one goroutine per
// worker, however many jobs wait.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/program"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func main() {
	program.Main("jobs", os.Args[1:], func(ctx context.Context, out io.Writer) error { return run(ctx, usual, out) })
}

// config is what a test varies.
type config struct {
	jobs    int
	outage  time.Duration // begins when half of the jobs are done
	workers int           // concurrent calls
	pending int           // jobs that may wait for a retry
	policy  retry.Policy
}

var usual = config{
	jobs:    100_000,
	outage:  10 * time.Second,
	workers: 32,
	pending: 10_000,
	policy:  retry.New(backoff.Exponential(50*time.Millisecond, 2).Cap(2*time.Second).Jitter(jitter.Equal), retry.Within(2*time.Minute)),
}

func run(ctx context.Context, c config, out io.Writer) error {
	l := newLedger(c.jobs)
	show := startDisplay(out, l)
	defer show.stop()
	server := startFlaky(c.jobs, c.outage, show.printf)
	defer server.close()
	client := newClient(server.url(), c.workers, l.called)
	defer client.close()

	show.printf("%d jobs for %s\n", c.jobs, server.url())
	began := time.Now()
	done := operators.MapRetry(stream.Range(0, c.jobs), c.policy.With(retry.OnRetry(l.retry)), client.send, operators.MapRetryOptions[int]{
		Workers:    c.workers,
		MaxPending: c.pending,
		DeadLetter: l.deadLetter,
		OnAbandon:  l.abandon,
	})
	err := done.ForEach(ctx, l.finish)
	show.stop()
	l.summary(out, time.Since(began))
	return errors.Join(err, l.check(server.finished()))
}

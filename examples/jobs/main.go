// Jobs sends 100,000 jobs to a flaky server, which is down for 10 s in the middle, and checks that no job is lost.
//
//	go run ./examples/jobs
//	go run ./examples/jobs -jobs 20000 -outage 3s -workers 8
//	go run ./examples/jobs -policy "constant d=100ms jitter=equal limit=200"
//
// A job whose call failed waits for its delay while the workers continue with other jobs. There is one goroutine per
// worker, however many jobs wait.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "jobs:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("jobs", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // main prints errors
	n := flags.Int("jobs", 100_000, "number of jobs")
	outage := flags.Duration("outage", 10*time.Second, "duration of the outage, which begins when half of the jobs are done")
	workers := flags.Int("workers", 32, "maximum number of concurrent calls")
	pending := flags.Int("pending", 10_000, "maximum number of jobs that wait for a retry")
	text := flags.String("policy", "", "the retry policy, such as \"exponential base=50ms factor=2 cap=2s jitter=equal within=2m\"")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		flags.SetOutput(out)
		flags.Usage()
		return nil
	case err != nil:
		return fmt.Errorf("%w; -h lists the flags", err)
	}
	switch {
	case flags.NArg() > 0:
		return fmt.Errorf("unexpected argument %q, want only flags", flags.Arg(0))
	case *n <= 0:
		return fmt.Errorf("-jobs is %d, want at least 1", *n)
	case *outage < 0:
		return fmt.Errorf("-outage is %v, want at least 0", *outage)
	case *workers <= 0:
		return fmt.Errorf("-workers is %d, want at least 1", *workers)
	case *pending <= 0:
		return fmt.Errorf("-pending is %d, want at least 1", *pending)
	}
	policy := retry.New(backoff.Exponential(50*time.Millisecond, 2).Cap(2*time.Second).Jitter(jitter.Equal), retry.Within(2*time.Minute))
	if *text != "" {
		var err error
		if policy, err = retry.Parse(*text); err != nil {
			return fmt.Errorf("-policy: %w", err)
		}
	}

	l := newLedger(*n)
	show := startDisplay(out, l)
	defer show.stop()
	server := startFlaky(*n, *outage, show.printf)
	defer server.close()
	client := newClient(server.url(), *workers, l.called)
	defer client.close()

	show.printf("%d jobs for %s\n", *n, server.url())
	began := time.Now()
	done := operators.MapRetry(stream.Range(0, *n), policy.With(retry.OnRetry(l.retry)), client.send, operators.MapRetryOptions[int]{
		Workers:    *workers,
		MaxPending: *pending,
		DeadLetter: l.deadLetter,
		OnAbandon:  l.abandon,
	})
	err := done.ForEach(ctx, l.finish)
	show.stop()
	l.summary(out, time.Since(began))
	return errors.Join(err, l.check(server.finished()))
}

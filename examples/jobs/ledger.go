package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// ledger records what becomes of every job.
type ledger struct {
	jobs  []fate // written on the consumer's goroutine only
	tried []atomic.Bool

	done, dead, abandoned, retries, waiting atomic.Int64
	lastDead                                error
}

// fate counts the ways in which a job has ended, so that a job that ends twice is detected.
type fate struct{ done, dead, abandoned uint8 }

func newLedger(n int) *ledger {
	return &ledger{jobs: make([]fate, n), tried: make([]atomic.Bool, n)}
}

// called records a call. It is called on the workers' goroutines.
func (l *ledger) called(job int) {
	if l.tried[job].Swap(true) {
		l.waiting.Add(-1)
	}
}

// retry is the policy's OnRetry hook.
func (l *ledger) retry(context.Context, retry.Event) {
	l.retries.Add(1)
	l.waiting.Add(1)
}

func (l *ledger) finish(job int) {
	l.jobs[job].done++
	l.done.Add(1)
}

func (l *ledger) deadLetter(_ context.Context, job int, err *retry.Error) error {
	l.jobs[job].dead++
	l.dead.Add(1)
	l.lastDead = err
	return nil
}

func (l *ledger) abandon(job, _ int) {
	l.jobs[job].abandoned++
	l.abandoned.Add(1)
}

func (l *ledger) summary(out io.Writer, took time.Duration) {
	done := l.done.Load()
	fmt.Fprintf(out, "%d jobs: %d done + %d dead = %d; %d retries in %v, %.0f jobs a second\n", len(l.jobs),
		done, l.dead.Load(), done+l.dead.Load(), l.retries.Load(), took.Round(time.Millisecond), float64(done)/took.Seconds())
	if l.lastDead != nil {
		fmt.Fprintf(out, "the last dead job: %v\n", l.lastDead)
	}
	if n := l.abandoned.Load(); n > 0 {
		fmt.Fprintf(out, "%d jobs abandoned\n", n)
	}
}

// check returns an error unless every job is either done or dead, exactly once, and the server has done each job that
// is done.
func (l *ledger) check(finished []bool) error {
	var errs []error
	if sum := l.done.Load() + l.dead.Load(); sum != int64(len(l.jobs)) {
		errs = append(errs, fmt.Errorf("done + dead = %d, want %d", sum, len(l.jobs)))
	}
	twice := func(f fate) bool { return f.done+f.dead+f.abandoned > 1 }
	if i := slices.IndexFunc(l.jobs, twice); i >= 0 {
		errs = append(errs, fmt.Errorf("job %d has ended more than once: %+v", i, l.jobs[i]))
	}
	for i, f := range l.jobs {
		if f.done > 0 && !finished[i] {
			errs = append(errs, fmt.Errorf("job %d is done, but the server has not done it", i))
			break
		}
	}
	return errors.Join(errs...)
}

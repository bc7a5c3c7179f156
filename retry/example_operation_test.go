package retry_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// job is a row in the table of a job queue. Whatever the queue must know about its failures is text.
type job struct {
	state string // of its operation
	last  string // its last error
	due   time.Time
}

// A job queue of one's own stores the State of each job between two attempts. The process that makes the next attempt
// may be another one.
func ExampleOperation() {
	policy := retry.New(backoff.Exponential(time.Minute, 2), retry.Limit(2),
		retry.OnGiveUp(func(_ context.Context, e *retry.Error) { fmt.Println("gave up:", e) }))
	send := func(ctx context.Context) error {
		fmt.Println("attempt", stream.AttemptFrom(ctx))
		return errBusy
	}

	// attempt makes the next attempt of a job that is due, and reports whether it was the last one.
	attempt := func(ctx context.Context, j *job) (last bool, err error) {
		var state retry.State
		if err := state.UnmarshalText([]byte(j.state)); err != nil {
			return false, err
		}
		op := policy.Continue(ctx, state, errors.New(j.last))
		attemptCtx, cancel := op.Attempt(ctx)
		err = send(attemptCtx)
		cancel()
		if err == nil {
			return true, op.Done(retry.Outcome{})
		}
		delay, end := op.Failed(retry.Outcome{Err: err, At: j.due})
		if end != nil {
			return true, op.Done(retry.Outcome{Err: end})
		}
		text, err := op.State().AppendText(nil)
		j.state, j.last, j.due = string(text), errBusy.Error(), j.due.Add(delay)
		return false, err
	}

	letter := &job{due: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	for last := false; !last; {
		last, _ = attempt(context.Background(), letter)
		fmt.Println(letter.state)
	}
	// Output:
	// attempt 1
	// attempts=1 first=2026-03-01T12:00:00Z retries=1 since=2026-03-01T12:00:00Z previous=1m0s
	// attempt 2
	// attempts=2 first=2026-03-01T12:00:00Z retries=2 since=2026-03-01T12:00:00Z previous=2m0s
	// attempt 3
	// gave up: retry: limit of 2 retries: 3 failures in 3m: busy
	// attempts=2 first=2026-03-01T12:00:00Z retries=2 since=2026-03-01T12:00:00Z previous=2m0s
}

// A loop that waits in place. The first value of a feed ends its outage, although the feed goes on.
func ExamplePolicy_Start() {
	policy := retry.New(backoff.Constant(0), retry.Limit(3),
		retry.OnRecovered(func(_ context.Context, r retry.Recovery) { fmt.Println("back after", r.Last) }))
	ctx := context.Background()
	op := policy.Start(ctx)
	for n := 1; ; n++ {
		attempt := op.Begin(ctx) // a feed is not limited by AttemptTimeout
		err := errBusy
		if n == 3 {
			op.Works()
			fmt.Println("a value in attempt", stream.AttemptFrom(attempt))
			err = nil
		}
		if err == nil {
			_ = op.Done(retry.Outcome{Items: 1})
			return
		}
		delay, end := op.Failed(retry.Outcome{Err: err})
		if end == nil {
			end = op.Wait(delay)
		}
		if end != nil {
			fmt.Println(op.Done(retry.Outcome{Err: end}))
			return
		}
	}
	// Output:
	// back after busy
	// a value in attempt 3
}

// An engine that waits in its own way asks whether the operation was cancelled meanwhile.
func ExampleOperation_Cancelled() {
	ctx, cancel := context.WithCancelCause(context.Background())
	op := retry.New(backoff.Constant(time.Hour)).Start(ctx)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	_, _ = op.Failed(retry.Outcome{Err: errBusy, At: now})
	fmt.Println(op.Cancelled(), op.State().FirstFailure().Equal(now), op.State().Attempts())
	cancel(errors.New("shutting down"))
	fmt.Println(errors.Is(op.Cancelled(), context.Canceled))
	// Output:
	// <nil> true 1
	// true
}

// A failure that the engine itself cannot retry: the request's body is spent.
func ExampleOperation_Refused() {
	op := retry.New(backoff.Constant(time.Second)).Start(context.Background())
	end := op.Refused(retry.Outcome{Err: errors.New("the body was sent")})
	fmt.Println(end)
	// Output: retry: not retryable: 1 failure in 0s: the body was sent
}

// An engine with many operations says nothing above DEBUG of each. The clock and the signals are the policy's.
func ExampleQuiet() {
	online := retry.NewSignal()
	policy := retry.New(backoff.Constant(time.Hour), retry.ResetOn(online), retry.Log(nil), retry.Quiet())
	began := policy.Clock(context.Background()).Now()
	online.Fire()
	fmt.Println(online.Fires(), time.Since(began) < time.Minute)
	// Output: 1 true
}

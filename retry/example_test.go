package retry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// fetch fails twice and then succeeds.
func fetch() func(context.Context) (string, error) {
	n := 0
	return func(context.Context) (string, error) {
		if n++; n < 3 {
			return "", fmt.Errorf("answer %d: busy", n)
		}
		return "hello", nil
	}
}

func ExampleDo() {
	policy := retry.New(backoff.Exponential(time.Millisecond, 2).Jitter(jitter.Full), retry.Limit(5))
	text, err := retry.Do(context.Background(), policy, fetch())
	fmt.Println(text, err)
	// Output: hello <nil>
}

func ExampleRun() {
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(2))
	err := retry.Run(context.Background(), policy, func(context.Context) error { return errors.New("busy") })
	fmt.Println(errors.Is(err, retry.ErrExhausted))
	// Output: true
}

func ExamplePolicy_Attempts() {
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(5))
	get := fetch()
	for a, err := range policy.Attempts(context.Background()) {
		if err != nil {
			fmt.Println("gave up:", err)
			return
		}
		text, err := get(context.Background())
		fmt.Printf("attempt %d: %q, %v\n", a.N(), text, err)
		a.Fail(err)
	}
	// Output:
	// attempt 1: "", answer 1: busy
	// attempt 2: "", answer 2: busy
	// attempt 3: "hello", <nil>
}

func ExamplePolicy_Handle() {
	n := 0
	numbers := stream.Defer(func(context.Context) stream.Stream[int] {
		if n++; n == 1 {
			return stream.Of(1, 2).Concat(stream.Fail[int](errors.New("connection reset")))
		}
		return stream.Of(3)
	})
	got, err := numbers.RetryWhen(retry.New(backoff.Constant(time.Millisecond), retry.Limit(1))).Collect(context.Background())
	fmt.Println(got, err)
	// Output: [1 2 3] <nil>
}

func ExamplePolicy_With() {
	patient := retry.Default.With(retry.Limit(10), retry.MaxRetryAfter(10*time.Minute))
	fmt.Println(retry.Default)
	fmt.Println(patient)
	// Output:
	// exponential base=1s factor=2 jitter=default limit=4 maxretryafter=1m
	// exponential base=1s factor=2 jitter=default limit=10 maxretryafter=10m
}

func ExampleParse() {
	policy, err := retry.Parse("exponential base=100ms factor=2 cap=30s jitter=full limit=5 within=1m")
	fmt.Println(policy, err)
	_, err = retry.Parse("exponential base=100ms factor=2 limit=-1")
	fmt.Println(err)
	// Output:
	// exponential base=100ms factor=2 cap=30s jitter=full limit=5 within=1m <nil>
	// retry: Parse: "limit=-1" at column 33: limit is "-1", want a whole number of at least 0
}

// The hooks can use any logger; this is log/slog.
func ExampleOnRetry_slog() {
	log := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey {
				return slog.Attr{}
			}
			return a
		},
	}))
	policy := retry.New(backoff.Linear(time.Millisecond), retry.Limit(2),
		retry.OnRetry(func(_ context.Context, e retry.Event) {
			log.Warn("retrying", "n", e.N, "delay", e.Delay, "err", e.Err)
		}),
		retry.OnGiveUp(func(_ context.Context, e *retry.Error) {
			log.Error("gave up", "attempts", e.Attempts, "cause", e.Cause, "err", e.Last)
		}))
	_ = retry.Run(context.Background(), policy, func(context.Context) error { return errors.New("busy") })
	// Output:
	// level=WARN msg=retrying n=1 delay=1ms err=busy
	// level=WARN msg=retrying n=2 delay=2ms err=busy
	// level=ERROR msg="gave up" attempts=3 cause="limit of 2 retries" err=busy
}

func ExamplePermanent() {
	err := retry.Run(context.Background(), retry.Default, func(context.Context) error {
		return retry.Permanent(errors.New("no such user"))
	})
	fmt.Println(err)
	// Output: no such user
}

func ExampleRetryAfter() {
	n := 0
	start := time.Now()
	_ = retry.Run(context.Background(), retry.New(backoff.Constant(time.Hour)), func(context.Context) error {
		if n++; n == 1 {
			return retry.RetryAfter(errors.New("busy"), 5*time.Millisecond)
		}
		return nil
	})
	fmt.Println(time.Since(start) >= 5*time.Millisecond)
	// Output: true
}

func ExampleNewBudget() {
	// At most 10 retries at once, and one for every ten successes: retries add at most a tenth to the load.
	budget := retry.NewBudget(10, 1, 0.1)
	policy := retry.New(backoff.Backoff{}, retry.WithBudget(budget))
	err := retry.Run(context.Background(), policy, func(context.Context) error { return errors.New("down") })
	fmt.Println(errors.Is(err, retry.ErrBudget), budget)
	// Output: true budget 0 of 10, cost 1, refund 0.1
}

// A worker that never gives up has a policy of its own around the call, with waits and without a limit or a budget. The
// call's policy alone, in a loop, would call a server that is down without a pause once the budget is spent.
func ExampleWithBudget() {
	put := retry.New(backoff.Constant(0), retry.Limit(3), retry.WithBudget(retry.NewBudget(10, 1, 0.1)))
	patient := retry.New(backoff.Exponential(time.Millisecond, 2).Cap(time.Minute).Jitter(jitter.Full))
	calls := 0
	err := retry.Run(context.Background(), patient, func(ctx context.Context) error {
		return retry.Run(ctx, put, func(context.Context) error {
			if calls++; calls < 17 {
				return errors.New("down")
			}
			return nil
		})
	})
	fmt.Println(calls, "calls,", err)
	// Output: 17 calls, <nil>
}

func ExampleSignal() {
	online := retry.NewSignal()
	policy := retry.New(backoff.Constant(time.Hour), retry.ResetOn(online),
		retry.OnRetry(func(context.Context, retry.Event) { go online.Fire() })) // the network comes back during the wait
	text, err := retry.Do(context.Background(), policy, fetch())
	fmt.Println(text, err)
	// Output: hello <nil>
}

func ExampleIf() {
	policy := retry.Default.With(retry.If(func(err error) bool { return errors.Is(err, os.ErrDeadlineExceeded) }))
	err := retry.Run(context.Background(), policy, func(context.Context) error { return os.ErrPermission })
	fmt.Println(err)
	// Output: permission denied
}

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

package retry_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// feed delivers a line, is cut off twice, and continues.
func feed() stream.Stream[string] {
	run := 0
	return stream.Defer(func(context.Context) stream.Stream[string] {
		switch run++; run {
		case 1:
			return stream.Of("line 1").Concat(stream.Fail[string](errors.New("cut off")))
		case 2:
			return stream.Fail[string](errors.New("refused"))
		}
		return stream.Of("line 4")
	})
}

// A consumer that must know about gaps learns of each gap before the first value after it.
func ExampleOnRecovered() {
	policy := retry.New(backoff.Constant(0), retry.OnRecovered(func(_ context.Context, r retry.Recovery) {
		fmt.Printf("there may be a gap: %d retries, the last failure was: %v\n", r.Retries, r.Last)
	}))
	_ = feed().RetryWhen(policy).ForEach(context.Background(), func(line string) { fmt.Println(line) })
	// Output:
	// line 1
	// there may be a gap: 2 retries, the last failure was: refused
	// line 4
}

// Metrics: every operation is counted once, however it ends.
func ExampleOnDone() {
	policy := retry.New(backoff.Constant(0), retry.Limit(2), retry.OnDone(func(_ context.Context, r retry.Result) {
		fmt.Printf("attempts %d, retries %d, failed %v\n", r.Attempts, r.Retries, r.Err != nil)
	}))
	ctx := context.Background()
	_ = retry.Run(ctx, policy, func(context.Context) error { return nil })
	_ = retry.Run(ctx, policy, func(context.Context) error { return errBusy })
	_ = retry.Run(ctx, policy, func(context.Context) error { return retry.Permanent(errors.New("no such user")) })
	// Output:
	// attempts 1, retries 0, failed false
	// attempts 3, retries 2, failed true
	// attempts 1, retries 0, failed true
}

func ExampleLog() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{
		Level: slog.LevelInfo,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Key == slog.TimeKey || a.Key == "lasted" || a.Key == "down" { // which differ from run to run
				return slog.Attr{}
			}
			return a
		},
	}))
	policy := retry.New(backoff.Constant(time.Millisecond), retry.Limit(3), retry.Log(logger))
	_, _ = feed().RetryWhen(policy).Collect(context.Background())
	// Output:
	// level=WARN msg="retrying after a failure" retry=1 delay=1ms dictated=false error="cut off"
	// level=INFO msg=recovered retries=2 last=refused
}

// Printed lines cannot be withdrawn.
func ExampleBeforeFirstItem() {
	policy := retry.New(backoff.Constant(0), retry.BeforeFirstItem())
	fmt.Println(feed().RetryWhen(policy).Collect(context.Background()))
	// Output: [line 1] cut off
}

// The outer policy retries. The client inside has its own policy, which would multiply the calls.
func ExampleWithoutRetries() {
	inner := retry.New(backoff.Constant(0), retry.Limit(3))
	outer := retry.New(backoff.Constant(0), retry.Limit(2))
	calls := 0
	client := func(ctx context.Context) error {
		return retry.Run(ctx, inner, func(context.Context) error { calls++; return errBusy })
	}
	ctx := context.Background()
	_ = retry.Run(ctx, outer, client)
	fmt.Println(calls, "calls")

	calls = 0
	_ = retry.Run(ctx, outer, func(ctx context.Context) error { return client(retry.WithoutRetries(ctx)) })
	fmt.Println(calls, "calls")
	// Output:
	// 12 calls
	// 3 calls
}

// What all clients of a program have in common.
func ExampleJoinOptions() {
	common := retry.JoinOptions(retry.Limit(5), retry.Within(time.Minute))
	prices := retry.New(backoff.Constant(time.Second), common, retry.Limit(2))
	fmt.Println(prices)
	// Output: constant d=1s limit=2 within=1m
}

func ExamplePolicy_Limit() {
	policy, _ := retry.Parse("constant d=1s limit=5 within=1m")
	fmt.Println(policy.Limit())
	fmt.Println(policy.Within())
	fmt.Println(policy.StopAt())
	fmt.Println(policy.AttemptTimeout())
	fmt.Println(policy.MaxRetryAfter())
	// Output:
	// 5 true
	// 1m0s true
	// 0s false
	// 0s false
	// 0s false
}

// At most ten retries at once, and then one a second.
func ExampleBudget_Refill() {
	budget := retry.NewBudget(10, 1, 0).Refill(1)
	policy := retry.New(backoff.Constant(0), retry.WithBudget(budget))
	_ = retry.Run(context.Background(), policy, func(context.Context) error { return errBusy })
	fmt.Println(budget.Stats())
	// Output: 10 1
}

// In a log an Error is a group of its fields.
func ExampleError_LogValue() {
	err := retry.Run(context.Background(), retry.New(backoff.Backoff{}, retry.Limit(0)), func(context.Context) error { return errBusy })
	if e, ok := errors.AsType[*retry.Error](err); ok {
		for _, a := range e.LogValue().Group()[:3] {
			fmt.Println(a)
		}
	}
	// Output:
	// cause=limit of 0 retries
	// last=busy
	// retries=0
}

var (
	errLimited = errors.New("too many requests")
	errExpired = errors.New("token expired")
)

// A policy for each class of error: each receives the failures of its class and counts only these.
func ExamplePolicy_Handle_forEachClass() {
	limited := retry.New(backoff.Constant(2*time.Millisecond), retry.Limit(5)) // wait long
	expired := retry.New(backoff.Constant(0), retry.Limit(1))                  // once more, with a new token
	refused := retry.New(backoff.Constant(0), retry.If(func(error) bool { return false }))
	class := func(err error) retry.Policy {
		switch {
		case errors.Is(err, errLimited):
			return limited
		case errors.Is(err, errExpired):
			return expired
		}
		return refused
	}
	handler := stream.RetryHandlerFunc(func(failures stream.Stream[stream.Failure]) stream.Stream[stream.Failure] {
		of := func(p retry.Policy) stream.Stream[stream.Failure] {
			return p.Handle(failures.Filter(func(f stream.Failure) bool { return class(f.Err) == p }))
		}
		return of(limited).Merge(of(expired), of(refused))
	})

	calls, errs := 0, []error{errLimited, errExpired, errLimited, errLimited, errBusy}
	request := stream.FromFunc(func(context.Context) (int, error) { calls++; return 0, errs[calls-1] })
	_, err := request.RetryWhen(handler).Collect(context.Background())
	fmt.Println(calls, "calls,", err)
	// Output: 5 calls, busy
}

func ExampleName() {
	policy := retry.New(backoff.Constant(0), retry.Limit(2), retry.Name("prices"), retry.OnGiveUp(func(_ context.Context, e *retry.Error) {
		fmt.Println("gave up:", e.Name, "after", e.Attempts, "attempts")
	}))
	feed := stream.Never[int]().Timeout(time.Microsecond)
	err := feed.RetryWhen(policy).ForEach(context.Background(), func(int) {})
	timeout, _ := errors.AsType[*retry.Error](err)
	fmt.Println(policy.Name(), "-", timeout.Last)
	// Output:
	// gave up: prices after 3 attempts
	// prices - stream: timeout: prices: nothing came for 1µs
}

// A policy in a package variable. Its lines go to the logger that main sets later.
func ExampleLog_default() {
	policy := retry.New(backoff.Constant(0), retry.Limit(1), retry.Name("prices"), retry.Log(nil))
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey || a.Key == "lasted" {
			return slog.Attr{} // would change the output
		}
		return a
	}})))
	calls := 0
	_ = retry.Run(context.Background(), policy, func(context.Context) error {
		if calls++; calls == 1 {
			return errors.New("connection refused")
		}
		return retry.Permanent(errors.New("not found"))
	})
	// Output:
	// level=WARN msg="retrying after a failure" name=prices retry=1 delay=0s dictated=false error="connection refused"
	// level=INFO msg="retries ended" name=prices attempts=2 error="not found"
}

// How often a feed connects, and how it ends, is known while the feed goes on.
func ExampleOnAttempt() {
	policy := retry.New(backoff.Constant(0), retry.Limit(1), retry.OnAttempt(func(_ context.Context, a retry.AttemptEnd) {
		fmt.Println("attempt", a.N, "ended:", a.Err, a.Lasted < time.Minute)
	}))
	calls := 0
	_ = retry.Run(context.Background(), policy, func(context.Context) error {
		if calls++; calls == 1 {
			return errors.New("connection refused")
		}
		return nil
	})
	// Output:
	// attempt 1 ended: connection refused true
	// attempt 2 ended: <nil> true
}

// A health check that is red while a feed is down.
func ExampleOnOutage() {
	healthy := true
	policy := retry.New(backoff.Constant(0), retry.Limit(3), retry.OnOutage(func(_ context.Context, err error) func() {
		healthy = false
		fmt.Println("down:", err)
		return func() { healthy = true }
	}))
	calls := 0
	_ = retry.Run(context.Background(), policy, func(context.Context) error {
		if calls++; calls < 3 {
			return fmt.Errorf("failure %d", calls)
		}
		fmt.Println("call 3, healthy:", healthy)
		return nil
	})
	fmt.Println("healthy:", healthy)
	// Output:
	// down: failure 1
	// call 3, healthy: false
	// healthy: true
}

func ExampleIsPermanent() {
	err := retry.Run(context.Background(), retry.Default, func(context.Context) error {
		return retry.Permanent(errors.New("not found"))
	})
	fmt.Println(err, retry.IsPermanent(err))
	// Output: not found true
}

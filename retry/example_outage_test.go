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
	// level=WARN msg="retrying after a failure" name=prices retry=1 delay=0s dictated=false error="connection refused" policy="constant d=0s limit=1"
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

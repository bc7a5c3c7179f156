package operators_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// Each order is sent separately: a failed one waits for its retry while the others continue.
func ExampleMapRetry() {
	var sent atomic.Int64
	send := func(ctx context.Context, order string) (string, error) {
		if sent.Add(1) == 1 {
			return "", errors.New("connection refused")
		}
		return order + " sent", nil
	}
	orders := stream.Of("anvil", "bellows", "chisel")
	policy := operators.ExpBackoff(jitter.Default, time.Millisecond, 3)
	results := operators.MapRetry(orders, policy, send, operators.MapRetryOptions[string]{Workers: 1})
	for result, err := range results.All(context.Background()) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(result)
	}
	// Unordered output:
	// bellows sent
	// chisel sent
	// anvil sent
}

// A job queue: jobs that always fail are kept for inspection, and unfinished jobs are put back.
func ExampleMapRetry_deadLetters() {
	work := func(ctx context.Context, job int) (string, error) {
		switch job {
		case 2:
			return "", retry.Permanent(errors.New("no such customer"))
		case 3:
			return "", errors.New("timeout")
		}
		return fmt.Sprintf("job %d done", job), nil
	}
	policy := operators.ExpBackoff(jitter.Default, time.Millisecond, 3)
	results := operators.MapRetry(stream.Range(1, 4), policy, work, operators.MapRetryOptions[int]{
		Ordered: true,
		DeadLetter: func(ctx context.Context, job int, err *retry.Error) error {
			fmt.Printf("job %d dead: %v, %v, %d attempts\n", job, err.Last, err.Cause, err.Attempts)
			return nil
		},
		OnAbandon: func(job, attempts int) {
			fmt.Printf("job %d back to the queue\n", job)
		},
	})
	err := results.ForEach(context.Background(), func(result string) { fmt.Println(result) })
	fmt.Println(err)
	// Output:
	// job 1 done
	// job 2 dead: no such customer, not retryable, 1 attempts
	// job 3 dead: timeout, limit of 3 retries, 4 attempts
	// job 4 done
	// <nil>
}

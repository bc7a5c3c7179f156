package adapters

import (
	"fmt"
	"time"

	"github.com/hibiken/asynq"

	"github.com/retrywhen/retrywhen/backoff"
)

// asynq counts the previous retries of a task, from 0. A Backoff counts the failures, from 1.
func Example_asynq() {
	b := backoff.Exponential(time.Second, 2).Cap(time.Minute)
	config := asynq.Config{
		Concurrency:    10,
		RetryDelayFunc: func(n int, _ error, _ *asynq.Task) time.Duration { return b.Delay(n + 1) },
	}

	task := asynq.NewTask("email:deliver", nil)
	for retried := range 8 {
		fmt.Print(config.RetryDelayFunc(retried, nil, task), " ")
	}
	// Output: 1s 2s 4s 8s 16s 32s 1m0s 1m0s
}

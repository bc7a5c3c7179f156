package main

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

func main() {
	tries := 0
	src := stream.FromFunc(func(context.Context) (int, error) {
		if tries++; tries < 3 {
			return 0, fmt.Errorf("try %d failed", tries)
		}
		return tries, nil
	}).RetryWhen(retry.New(backoff.Exponential(time.Millisecond, 2).Jitter(jitter.Full), retry.Limit(5)))
	tens, err := operators.Map(src, func(n int) int { return 10 * n }).Collect(context.Background())
	fmt.Println(tens, err)
}

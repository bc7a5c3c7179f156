package sim_test

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// An outage's load over time: the attempts, and how many of them are served.
func ExampleTraffic() {
	r, err := sim.Outage{
		Policy:  retry.New(backoff.Exponential(time.Second, 2).Cap(20 * time.Second).Jitter(jitter.Full)),
		Clients: 200, Down: 20 * time.Second, Capacity: 10, Bin: 10 * time.Second, Seed: 1,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, n := range r.Traffic.Attempts {
		fmt.Printf("%-4v %4d attempts %4d served %s\n", time.Duration(i)*r.Traffic.Bin, n, r.Traffic.Served[i],
			strings.Repeat("*", int(n)/20))
	}
	// Output:
	// 0s   1009 attempts    0 served **************************************************
	// 10s   222 attempts    0 served ***********
	// 20s   161 attempts   88 served ********
	// 30s   106 attempts   85 served *****
	// 40s    24 attempts   24 served *
	// 50s     3 attempts    3 served
}

func ExampleCounts() {
	r, err := sim.Outage{
		Policy:  retry.New(backoff.Exponential(time.Second, 2).Cap(20 * time.Second).Jitter(jitter.Full)),
		Clients: 200, Down: 20 * time.Second, Capacity: 10, Seed: 1,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	var attempts sim.Counts = r.PerClient
	fmt.Printf("%d clients, each with %d to %d attempts: %.1f ± %.1f\n",
		attempts.Count, attempts.Least, attempts.Most, attempts.Mean, attempts.SD)
	// Output: 200 clients, each with 6 to 10 attempts: 7.6 ± 1.0
}

package sim_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// A thousand jobs fail together and are retried ten times.
func ExampleHerd() {
	for _, b := range []backoff.Backoff{
		backoff.Exponential(10*time.Second, 2).Cap(2 * time.Minute),
		backoff.Exponential(10*time.Second, 2).Cap(2 * time.Minute).Jitter(jitter.Full),
		backoff.Exponential(10*time.Second, 2).Cap(2 * time.Minute).Tiled(),
	} {
		r, err := sim.Herd{Policy: retry.New(b), Jobs: 1000, Retries: 10, Seed: 1}.Run(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		load, err := r.Load(time.Second)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-52v at most %4d retries in a second\n", b, load.Peak)
	}
	// Output:
	// exponential base=10s factor=2 cap=2m                 at most 1000 retries in a second
	// exponential base=10s factor=2 cap=2m jitter=full     at most  170 retries in a second
	// exponential base=10s factor=2 cap=2m tiled           at most  101 retries in a second
}

// When each job is retried: the dots of a chart.
func ExampleHerdResult_At() {
	h := sim.Herd{Policy: retry.New(backoff.Linear(10 * time.Second).Tiled()), Jobs: 3, Retries: 3, Seed: 1}
	r, err := h.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for job := range r.Jobs {
		fmt.Print("job ", job)
		for retry := 1; retry <= r.Retries; retry++ {
			fmt.Printf("%7.1fs", r.At(job, retry).Seconds())
		}
		fmt.Println()
	}
	// Output:
	// job 0    3.0s   16.1s   39.1s
	// job 1    9.2s   28.4s   57.7s
	// job 2    5.4s   20.8s   46.2s
}

// The load as a histogram.
func ExampleHerdResult_Load() {
	h := sim.Herd{Policy: retry.New(backoff.Linear(10 * time.Second).Tiled()), Jobs: 60, Retries: 3, Seed: 1}
	r, err := h.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	load, err := r.Load(5 * time.Second)
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, n := range load.Counts {
		fmt.Printf("from %3v %s\n", time.Duration(i)*load.Bin, strings.Repeat("#", int(n)))
	}
	// Output:
	// from  0s ##############################
	// from  5s ##############################
	// from 10s ###############
	// from 15s ###############
	// from 20s ##############
	// from 25s ################
	// from 30s ##########
	// from 35s ##########
	// from 40s ##########
	// from 45s ##########
	// from 50s ##########
	// from 55s ##########
}

// "Visualization of backoff functions" ends with an open question: is there a backoff without state that spreads the
// load better than these, and whose waits differ little? The last strategy is an answer.
func ExampleComparison_question() {
	figures, err := sim.Comparison{
		Strategies: []sim.Strategy{
			{Name: "constant", Policy: retry.New(backoff.Constant(5 * time.Minute))},
			{Name: "exponential", Policy: retry.New(backoff.Exponential(time.Minute, 2).Plus(3 * time.Minute))},
			{Name: "sidekiq", Policy: retry.New(backoff.Sidekiq())},
			{Name: "buckets", Policy: retry.New(backoff.Buckets(time.Second, 3))},
			{Name: "tiled", Policy: retry.New(backoff.Linear(52_320 * time.Millisecond).Tiled())},
		},
		Jobs: 100, Retries: 5, Runs: 200, PeakWindow: time.Second, DeadWindow: 3500 * time.Millisecond,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range figures {
		fmt.Printf("%-12s total %4.0f s, peak %5.1f, dead %2.0f %%, mean CV %.2f\n",
			f.Name, f.Total.Seconds(), f.PeakOverMean, 100*f.DeadShare, f.MeanCV)
	}
	// Output:
	// constant     total 1500 s, peak 300.0, dead 99 %, mean CV 0.00
	// exponential  total 2760 s, peak 552.0, dead 99 %, mean CV 0.00
	// sidekiq      total  654 s, peak  14.6, dead 33 %, mean CV 0.27
	// buckets      total  270 s, peak  17.4, dead 13 %, mean CV 0.45
	// tiled        total  654 s, peak   4.7, dead  0 %, mean CV 0.21
}

// A comparison of three strategies.
func ExampleComparison() {
	tiled := backoff.Linear(time.Minute).Tiled()
	figures, err := sim.Comparison{
		Strategies: []sim.Strategy{
			{Name: "one process", Policy: retry.New(tiled)},
			{Name: "a process each", Policy: retry.New(tiled), Processes: 500},
			{Name: "by ordinal", Policy: retry.New(tiled), Placement: sim.ByOrdinal},
		},
		Jobs: 500, Retries: 4, Runs: 50, PeakWindow: time.Second, DeadWindow: time.Second,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range figures {
		fmt.Printf("%-15s peak %.1f\n", f.Name, f.PeakOverMean)
	}
	// Output:
	// one process     peak 3.0
	// a process each  peak 5.3
	// by ordinal      peak 3.0
}

// The strategies that "Exponential Backoff And Jitter" compares, with its base of 5 ms and its cap of 2 s.
var classics = []sim.Strategy{
	{Name: "none", Policy: retry.New(backoff.Backoff{})},
	{Name: "exponential", Policy: retry.New(backoff.Exponential(10*time.Millisecond, 2).Cap(2 * time.Second))},
	{Name: "full", Policy: retry.New(backoff.Exponential(10*time.Millisecond, 2).Cap(2 * time.Second).Jitter(jitter.Full))},
	{Name: "equal", Policy: retry.New(backoff.Exponential(10*time.Millisecond, 2).Cap(2 * time.Second).Jitter(jitter.Equal))},
	{Name: "decorrelated", Policy: retry.New(backoff.Decorrelated(5 * time.Millisecond).Cap(2 * time.Second))},
}

// A hundred clients write the same row.
func ExampleOCC() {
	for _, s := range classics {
		r, err := sim.OCC{Network: sim.DefaultNetwork, Policy: s.Policy, Clients: 100, Seed: 1}.Run(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-12s %4d calls in %5.2f s, half of them by %5.2f s\n", s.Name, r.Calls, r.End.Seconds(), r.Times[r.Calls/2].Seconds())
	}
	// Output:
	// none         2441 calls in  1.97 s, half of them by  0.56 s
	// exponential  1905 calls in 62.08 s, half of them by  6.98 s
	// full          803 calls in  5.45 s, half of them by  0.24 s
	// equal         819 calls in  6.09 s, half of them by  0.29 s
	// decorrelated 1004 calls in  4.36 s, half of them by  0.34 s
}

// Without variance two clients write at the same instant; the one that fails retries and is done 50 ms later.
func ExampleOCC_exact() {
	r, err := sim.OCC{
		Policy:  retry.New(backoff.Exponential(10*time.Millisecond, 2).Cap(2 * time.Second)),
		Clients: 2, Network: sim.Network{Mean: 10 * time.Millisecond},
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Calls, r.End, r.Times)
	// Output:
	// 3 90ms [30ms 30ms 80ms]
}

// The article's two figures, calls and time against the number of clients.
func ExampleSweep() {
	points, err := sim.Sweep{
		Strategies: classics, Clients: []int{20, 100}, Runs: 50, Network: sim.DefaultNetwork,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range points {
		fmt.Printf("%d clients, %-12s %4.0f calls, %5.1f s\n", p.Clients, p.Strategy, p.Calls.Mean, p.End.Mean.Seconds())
	}
	// Output:
	// 20 clients, none          152 calls,   0.6 s
	// 20 clients, exponential   150 calls,  14.4 s
	// 20 clients, full          101 calls,   1.0 s
	// 20 clients, equal         109 calls,   1.7 s
	// 20 clients, decorrelated  102 calls,   0.8 s
	// 100 clients, none         2431 calls,   2.0 s
	// 100 clients, exponential  1856 calls,  64.0 s
	// 100 clients, full          795 calls,   4.9 s
	// 100 clients, equal         814 calls,   6.6 s
	// 100 clients, decorrelated  998 calls,   4.6 s
}

// A server is down for a minute. Then it serves 20 of its thousand clients a second.
func ExampleOutage() {
	for _, b := range []backoff.Backoff{
		backoff.Exponential(time.Second, 2).Cap(30 * time.Second),
		backoff.Exponential(time.Second, 2).Cap(30 * time.Second).Jitter(jitter.Equal),
	} {
		r, err := sim.Outage{Policy: retry.New(b), Clients: 1000, Down: time.Minute, Capacity: 20, Seed: 1}.Run(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-52v %4.1f attempts per client, %5d failed after, all served after %v\n",
			b, r.PerClient.Mean, r.FailuresAfter, r.End.Round(time.Second))
	}
	// Output:
	// exponential base=1s factor=2 cap=30s                 31.5 attempts per client, 24500 failed after, all served after 25m31s
	// exponential base=1s factor=2 cap=30s jitter=equal     8.9 attempts per client,   743 failed after, all served after 2m10s
}

// A budget limits the number of retries of a process.
func ExampleOutage_budget() {
	o := sim.Outage{
		Policy:  retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.Limit(5)),
		Clients: 1000, Down: 10 * time.Second, Capacity: 1000, Seed: 1,
	}
	with := o.Policy.With(retry.WithBudget(retry.NewBudget(100, 1, 0)))
	for _, o.Policy = range []retry.Policy{o.Policy, with} {
		r, err := o.Run(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%d retries, %d clients served, %d have given up\n", r.Attempts-int64(r.Clients), r.Served, r.GivenUp)
	}
	// Output:
	// 4784 retries, 820 clients served, 180 have given up
	// 100 retries, 0 clients served, 1000 have given up
}

// A stopped run returns the result so far.
func ExampleStoppedError() {
	r, err := sim.OCC{Network: sim.DefaultNetwork, Clients: 1000, Horizon: 3 * time.Second, Seed: 1}.Run(context.Background())
	if stopped, ok := errors.AsType[*sim.StoppedError](err); ok {
		fmt.Println(errors.Is(err, sim.ErrHorizon), stopped.At, r.Written == int(stopped.Done))
	}
	// Output:
	// true 3s true
}

// The error of an invalid model names the field and its valid values.
func ExampleFieldError() {
	_, err := sim.Herd{Jobs: 1_000_000_000, Retries: 1}.Run(context.Background())
	fmt.Println(err)
	if field, ok := errors.AsType[*sim.FieldError](err); ok {
		fmt.Println(field.Field)
	}
	// Output:
	// sim: Herd: Jobs is 1000000000, want 1 to 100000000
	// Jobs
}

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

// A server of 20 a second has a thousand clients. With which policy are all of them served within a minute of its
// return, after outages of 2 s and of a minute?
func ExampleChoose() {
	r, err := sim.Choose{
		Clients: 1000, Capacity: 20, Outages: []time.Duration{2 * time.Second, time.Minute}, Served: time.Minute, Runs: 2,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, c := range r.Choices {
		mark := " "
		if i == r.Recommended {
			mark = "*"
		}
		var last sim.ChoiceOutage = c.Outages[1]
		fmt.Printf("%s %-26s %-5v %4.1f refusals a client; after a minute all served in %v\n", mark, c.Name, c.Meets, c.Refusals, last.After.Most.Round(time.Second))
	}
	var choice sim.Choice = r.Choices[r.Recommended]
	fmt.Printf("%v: an operation that fails alone waits for %v in the median\n", choice.Policy, choice.FirstWait.P50.Round(10*time.Millisecond))
	// Output:
	//   exponential, full          false  3.9 refusals a client; after a minute all served in 1m15s
	//   exponential, equal         false  4.0 refusals a client; after a minute all served in 1m10s
	//   decorrelated               false  4.2 refusals a client; after a minute all served in 1m12s
	//   constant 55s, tiled        true   0.0 refusals a client; after a minute all served in 55s
	//   constant 1m11.5s, tiled    false  0.0 refusals a client; after a minute all served in 1m11s
	//   1s, then 27.5s, tiled      true   0.9 refusals a client; after a minute all served in 55s
	//   1s, then 41.3s, tiled      false  0.4 refusals a client; after a minute all served in 1m22s
	// * 1s, then 55s, tiled        true   0.0 refusals a client; after a minute all served in 55s
	//   1s, then 1m11.5s, tiled    false  0.0 refusals a client; after a minute all served in 1m11s
	//   constant 22s, full         false  3.1 refusals a client; after a minute all served in 1m5s
	// table delays=1s,55s tiled: an operation that fails alone waits for 500ms in the median
}

// The policies that Choose compares by default.
func ExampleCandidates() {
	for _, s := range sim.Candidates(1000, 20, 0, sim.OneProcess) {
		fmt.Printf("%-26s %v\n", s.Name, s.Policy)
	}
	// Output:
	// exponential, full          exponential base=1s factor=2 cap=30s jitter=full
	// exponential, equal         exponential base=1s factor=2 cap=30s jitter=equal
	// decorrelated               decorrelated base=1s cap=30s
	// constant 55s, tiled        constant d=55s tiled
	// constant 1m11.5s, tiled    constant d=1m11.5s tiled
	// 1s, then 27.5s, tiled      table delays=1s,27.5s tiled
	// 1s, then 41.3s, tiled      table delays=1s,41.3s tiled
	// 1s, then 55s, tiled        table delays=1s,55s tiled
	// 1s, then 1m11.5s, tiled    table delays=1s,1m11.5s tiled
	// constant 22s, full         constant d=22s jitter=full
}

// A server of 20 a second needs 50 s for a thousand clients.
func ExampleWave() {
	fmt.Println(sim.Wave(1000, 20))
	// Output: 55s
}

// A server of 100 requests a second, under a load of 80 a second, stands still for 5 s. Retries with backoff and jitter
// keep it down. With a retry budget it recovers.
func ExampleOverload() {
	policy := retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(10*time.Second).Jitter(jitter.Full), retry.AttemptTimeout(time.Second))
	for _, l := range []struct {
		name string
		sim.Layer
	}{
		{"no retry", sim.Layer{Policy: policy.With(retry.Limit(0))}},
		{"3 retries", sim.Layer{Policy: policy.With(retry.Limit(3))}},
		{"3 retries, budget", sim.Layer{Policy: policy.With(retry.Limit(3), retry.WithBudget(retry.NewBudget(10, 1, 0.1)))}},
	} {
		r, err := sim.Overload{
			Load: 80, Layers: []sim.Layer{l.Layer},
			Service: sim.Service{Mean: 10 * time.Millisecond},
			Trigger: sim.Trigger{At: 20 * time.Second, For: 5 * time.Second},
			Horizon: 5 * time.Minute, Seed: 1,
		}.Run(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%-17s %s, %.1f requests an operation, %d %% of the work wasted\n",
			l.name, r.Recovery.Verdict, r.Amplification, 100*r.Wasted/(r.Wasted+r.Served))
	}
	// Output:
	// no retry          recovered, 1.0 requests an operation, 7 % of the work wasted
	// 3 retries         not recovered, 3.8 requests an operation, 94 % of the work wasted
	// 3 retries, budget recovered, 1.0 requests an operation, 7 % of the work wasted
}

// The load over time: operations, requests, wasted requests and the queue.
func ExampleFlow() {
	r, err := sim.Overload{
		Load:    60,
		Layers:  []sim.Layer{{Policy: retry.New(backoff.Constant(time.Second), retry.Limit(2), retry.AttemptTimeout(time.Second))}},
		Service: sim.Service{Mean: 10 * time.Millisecond},
		Trigger: sim.Trigger{At: 10 * time.Second, For: 2 * time.Second},
		Horizon: 30 * time.Second, Bin: 5 * time.Second,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	var f sim.Flow = r.Flow
	for i := range f.Arrived {
		fmt.Printf("from %3v %3d operations, %3d requests, %3d wasted, queue of %d\n", time.Duration(i)*f.Bin, f.Arrived[i], f.Offered[i], f.Wasted[i], f.Queue[i])
	}
	// Output:
	// from  0s 298 operations, 298 requests,   0 wasted, queue of 6
	// from  5s 297 operations, 297 requests,   0 wasted, queue of 4
	// from 10s 305 operations, 537 requests, 299 wasted, queue of 237
	// from 15s 293 operations, 919 requests, 500 wasted, queue of 656
	// from 20s 311 operations, 893 requests, 500 wasted, queue of 1049
	// from 25s 301 operations, 917 requests, 500 wasted, queue of 1468
}

// Three layers with four attempts each turn one operation into 64 requests when the server refuses them.
func ExampleLayer() {
	four := sim.Layer{Policy: retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))}
	for n := range 3 {
		layers := []sim.Layer{four, four, four}[:n+1]
		r, err := sim.Overload{
			Trace:  []time.Duration{0, 0, time.Second}, // the first keeps the server busy, the second fills its queue
			Layers: layers, Service: sim.Service{Mean: time.Hour}, Queue: 1, Horizon: time.Minute,
		}.Run(context.Background())
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(len(layers), "layers:", r.Refused, "requests of the third operation")
	}
	// Output:
	// 1 layers: 4 requests of the third operation
	// 2 layers: 16 requests of the third operation
	// 3 layers: 64 requests of the third operation
}

// A standstill of 10 s.
func ExampleTrigger() {
	r, err := sim.Overload{
		Load:    50,
		Layers:  []sim.Layer{{Policy: retry.New(backoff.Backoff{}, retry.Limit(0), retry.AttemptTimeout(time.Second))}},
		Service: sim.Service{Mean: 10 * time.Millisecond},
		Trigger: sim.Trigger{At: 10 * time.Second, For: 10 * time.Second},
		Horizon: time.Minute,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r.Recovery.Verdict, r.Recovery.After)
	// Output:
	// recovered 8s
}

// The mean wait in the queue of a server at half its capacity is half the service time of one request.
func ExampleService() {
	r, err := sim.Overload{
		Load: 50, Layers: []sim.Layer{{Policy: retry.New(backoff.Backoff{}, retry.Limit(0))}}, Service: sim.Service{Mean: 10 * time.Millisecond}, Horizon: time.Hour,
	}.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("wait %.1f ms, 99 %% of the operations within %.0f ms\n", r.Wait.Mean.Seconds()*1000, r.Latency.P99.Seconds()*1000)
	// Output:
	// wait 5.0 ms, 99 % of the operations within 44 ms
}

// The highest load from which a server of 100 requests a second recovers after a standstill of 5 s.
func ExampleBoundary() {
	policy := retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(10*time.Second).Jitter(jitter.Full), retry.Limit(3), retry.AttemptTimeout(time.Second))
	b := sim.Boundary{
		Overload: sim.Overload{
			Service: sim.Service{Mean: 10 * time.Millisecond}, Trigger: sim.Trigger{At: 10 * time.Second, For: 5 * time.Second}, Horizon: 2 * time.Minute,
		},
		Callers: []sim.Callers{
			{Name: "3 retries", Layers: []sim.Layer{{Policy: policy}}},
			{Name: "with a budget", Layers: []sim.Layer{{Policy: policy.With(retry.WithBudget(retry.NewBudget(10, 1, 0.1)))}}},
		},
		Loads: []float64{10, 20, 30, 40, 50, 60, 70, 80, 90}, Runs: 2,
	}
	r, err := b.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	for i, callers := range b.Callers {
		fmt.Printf("%s: up to %v a second\n", callers.Name, r.Highest[i])
	}
	var p sim.BoundaryPoint = r.Points[len(r.Points)-2]
	var requests sim.Estimate = p.Amplification
	fmt.Printf("%s, at %v: back after %v ± %v, %.2f ± %.2f requests an operation\n", p.Callers, p.Load,
		p.After.Mean, p.After.Confidence().Round(time.Second), requests.Mean, requests.Confidence())
	// Output:
	// 3 retries: up to 20 a second
	// with a budget: up to 90 a second
	// with a budget, at 80: back after 17s ± 0s, 1.00 ± 0.00 requests an operation
}

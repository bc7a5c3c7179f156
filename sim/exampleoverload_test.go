package sim_test

import (
	"context"
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

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

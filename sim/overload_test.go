package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// nightly turns on the tests that take minutes.
var nightly = os.Getenv("RETRYWHEN_NIGHTLY") == "1"

// full is the backoff that is usually recommended.
var full = backoff.Exponential(100*time.Millisecond, 2).Cap(10 * time.Second).Jitter(jitter.Full)

// retrying returns a layer whose attempts time out after a second.
func retrying(limit int) Layer {
	return Layer{Policy: retry.New(full, retry.Limit(limit), retry.AttemptTimeout(time.Second))}
}

// tenth returns a budget of ten retries, and one for every ten successes.
func tenth() retry.Option { return retry.WithBudget(retry.NewBudget(10, 1, 0.1)) }

func recovered(r *OverloadResult) bool { return r.Recovery.Verdict == Recovered }

// stalled returns a server of 100 requests a second that stands still for a while.
func stalled(load float64, stall time.Duration, l ...Layer) Overload {
	return Overload{
		Load: load, Layers: l, Service: Service{Mean: 10 * time.Millisecond},
		Trigger: Trigger{At: 20 * time.Second, For: stall}, Horizon: 5 * time.Minute,
	}
}

// The mean wait in the queue follows the Pollaczek-Khinchine formula: ρ·m·(1+CV²)/(2·(1-ρ)).
func TestOverloadWaitsAreThoseOfQueueingTheory(t *testing.T) {
	if raced {
		t.Skip("means are compared without the race detector")
	}
	operations := 2_000_000.0
	loads := []float64{30, 50}
	if nightly {
		operations, loads = 40_000_000, []float64{30, 50, 70, 80}
	}
	forever := retry.New(backoff.Backoff{}, retry.Limit(0))
	for _, load := range loads {
		rho := load / 100
		horizon := duration(operations / load * 1e9)
		r := mustRun(t, Overload{Load: load, Layers: []Layer{{Policy: forever}}, Service: Service{Mean: 10 * time.Millisecond}, Horizon: horizon, Bin: horizon / 100})
		want := rho * 0.01 / (2 * (1 - rho)) // of an M/D/1
		if off := r.Wait.Mean.Seconds()/want - 1; math.Abs(off) > 0.01 {
			t.Errorf("at %v of its capacity the mean wait is %v, want %.6f s (%+.2f %%)", rho, r.Wait.Mean, want, 100*off)
		}
		if z := (float64(r.Operations) - operations) / math.Sqrt(operations); math.Abs(z) > 5 {
			t.Errorf("%d operations, want %.0f (z = %.1f)", r.Operations, operations, z)
		}
	}
}

// Without retries the wait in the queue shrinks by 1-ρ a second after a standstill S. A request that comes x after its
// beginning waits for S-x·(1-ρ), which is a second at x = (S-1)/(1-ρ).
func TestOverloadWithoutRetriesRecoversInTheTimeOfTheQueue(t *testing.T) {
	for _, load := range []float64{50, 70, 80} {
		for _, stall := range []time.Duration{5 * time.Second, 10 * time.Second} {
			o := stalled(0, stall, retrying(0))
			for at := time.Duration(0); at < o.Horizon; at += duration(1e9 / load) {
				o.Trace = append(o.Trace, at)
			}
			r := mustRun(t, o)
			want := (stall.Seconds()-1)/(1-load/100) - stall.Seconds()
			if late := r.Recovery.After.Seconds() - want; !recovered(r) || late < -0.5 || late > 1.1 {
				t.Errorf("%v a second, a standstill of %v: recovered after %v (%v), want %.1f s", load, stall, r.Recovery.After, recovered(r), want)
			}
		}
	}
}

// Each source of random numbers of a run has numbers of its own.
func TestOverloadsSourcesDiffer(t *testing.T) {
	arrivals, policies, failing := new(Overload).random()
	first := map[uint64]bool{arrivals.Uint64(): true, policies.Uint64(): true, failing.Uint64(): true}
	if len(first) != 3 {
		t.Errorf("%d sources differ, want 3", len(first))
	}
}

// With three to five retries the server does not recover from a standstill of a few seconds. With a budget it does, and
// hardly later than without retries.
func TestOverloadIsMetastable(t *testing.T) {
	loads, stalls, limits := []float64{50, 85}, []time.Duration{5 * time.Second}, []int{3}
	if nightly {
		loads, stalls, limits = []float64{50, 60, 70, 80, 85}, []time.Duration{5 * time.Second, 10 * time.Second}, []int{3, 4, 5}
	}
	for _, load := range loads {
		for _, stall := range stalls {
			without := mustRun(t, stalled(load, stall, retrying(0)))
			for _, limit := range limits {
				name := fmt.Sprintf("%v a second, %v, %d retries", load, stall, limit)
				r := mustRun(t, stalled(load, stall, retrying(limit)))
				n := len(r.Flow.Offered) - 100
				var good, offered int64
				for i := n; i < n+100; i++ {
					good, offered = good+r.Flow.Succeeded[i], offered+r.Flow.Offered[i]/100
				}
				if recovered(r) || good != 0 || float64(offered) < load*float64(limit) || float64(offered) > load*float64(limit+2) {
					t.Errorf("%s: recovered %v, %d operations succeed in the last 100 s, %d requests a second", name, recovered(r), good, offered)
				}
				l := retrying(limit)
				l.Policy = l.Policy.With(tenth())
				r = mustRun(t, stalled(load, stall, l))
				late := r.Recovery.After - without.Recovery.After
				soon := recovered(r) && recovered(without)
				if load == 85 && stall == 10*time.Second { // the queue alone takes a minute
					soon = r.Recovery.Verdict == RecoveredLate && without.Recovery.Verdict == RecoveredLate
				}
				if !soon || late > 5*time.Second || r.Amplification > 1.1 {
					t.Errorf("%s, with a budget: recovered %v after %v, %v without retries; amplification %.2f", name, recovered(r), r.Recovery.After, without.Recovery.After, r.Amplification)
				}
			}
		}
	}
}

// Three layers with four attempts each make 64 calls. With a budget in each, or retries in one layer only, there are
// far fewer.
func TestOverloadLayersMultiply(t *testing.T) {
	l := Layer{Policy: retry.New(backoff.Constant(time.Millisecond), retry.Limit(3))}
	o := Overload{
		Trace:  []time.Duration{0, 0, time.Second},
		Layers: []Layer{l, l, l}, Service: Service{Mean: time.Second}, Queue: 1, Trigger: Trigger{For: time.Hour}, Horizon: time.Minute,
	}
	// The first is served, the second waits, and the third is refused 64 times.
	r := mustRun(t, o)
	if r.Offered != 2+64 || r.Refused != 64 || r.GivenUp != 1 || r.Operations != 3 || r.Amplification != 22 {
		t.Errorf("three layers: %+v", r)
	}
	o.Layers = o.Layers[:2]
	if r := mustRun(t, o); r.Refused != 16 {
		t.Errorf("two layers: %d refused", r.Refused)
	}
	l.Policy = l.Policy.With(retry.WithBudget(retry.NewBudget(1, 1, 0)))
	o.Layers = []Layer{l, l, l}
	// Each layer may retry once. The last layer's retry is spent in the first attempt of the middle layer.
	if r := mustRun(t, o); r.Refused != 2+1+1 || r.OutOfBudget != 3+2+1 {
		t.Errorf("with budgets: %d refused, %d out of budget", r.Refused, r.OutOfBudget)
	}
	for i := range o.Layers {
		o.Layers[i].Processes = 3 // in the first layer the third operation has a process of its own
	}
	if r := mustRun(t, o); r.Refused < 5 {
		t.Errorf("a budget for each process: %d refused", r.Refused)
	}
}

// The timeout of an upper layer ends the calls under it.
func TestOverloadUpperTimeoutEndsTheLower(t *testing.T) {
	o := Overload{
		Trace: []time.Duration{0},
		Layers: []Layer{
			{Policy: retry.New(backoff.Constant(0), retry.Limit(1), retry.AttemptTimeout(2500*time.Millisecond))},
			{Policy: retry.New(backoff.Constant(0), retry.Limit(9), retry.AttemptTimeout(time.Second))},
		},
		Service: Service{Mean: time.Second}, Trigger: Trigger{For: time.Hour}, Horizon: 2 * time.Hour, Bin: time.Minute,
	}
	// Requests at 0, 1, 2; then at 2.5, 3.5, 4.5 s; at 5 s the users give up. All the work is wasted.
	if r := mustRun(t, o); r.Offered != 6 || r.GivenUp != 1 || r.Wasted != 6 || r.Served != 0 || r.Succeeded != 0 {
		t.Errorf("it is %+v", r)
	}
}

// A refusal may take some time, and the caller's timeout may be over before it.
func TestOverloadRefusalTakesTime(t *testing.T) {
	o := Overload{
		Trace: make([]time.Duration, 3), Layers: []Layer{{Policy: retry.New(backoff.Constant(0), retry.Limit(1), retry.AttemptTimeout(20*time.Millisecond))}},
		Service: Service{Mean: 10 * time.Millisecond}, Queue: 1, Refusal: 5 * time.Millisecond, Horizon: time.Second,
	}
	// The first is served at 10 ms, the second at 20 ms: too late, it has left then and comes again. The third is refused
	// twice, and gives up after 10 ms.
	if r := mustRun(t, o); r.Refused != 2 || r.GivenUp != 1 || r.Succeeded != 2 || r.Latency.Least != 10*time.Millisecond {
		t.Errorf("%+v", r)
	}
	// It learns nothing before its timeout at 20 ms, comes again, and waits for the second one: until 40 ms, too long.
	o.Refusal = time.Minute
	if r := mustRun(t, o); r.Refused != 1 || r.GivenUp != 1 || r.Succeeded != 2 || r.Latency.Most != 30*time.Millisecond {
		t.Errorf("a refusal after the timeout: %+v", r)
	}
}

// Each of the loops has one operation at a time: its next one begins when the last one has ended.
func TestOverloadLoops(t *testing.T) {
	o := Overload{Loops: 5, Layers: []Layer{{}}, Service: Service{Mean: 100 * time.Millisecond}, Horizon: 100 * time.Second}
	r := mustRun(t, o) // the server is never idle: of 5 requests one is served and four wait
	if r.Operations != r.Succeeded+5 || r.Succeeded < 990 || r.Succeeded > 1000 || slices.Max(r.Flow.Queue) != 4 || r.Latency.P99 > 502*time.Millisecond {
		t.Errorf("%+v", r)
	}
	o.Layers[0].Policy = retry.New(backoff.Constant(0), retry.Limit(3), retry.AttemptTimeout(50*time.Millisecond))
	if r := mustRun(t, o); r.Operations != r.GivenUp+5 || r.Offered < 9900 {
		t.Errorf("with an attempt timeout that no answer meets: %+v", r)
	}
	o.Queue = 1 // three of five are refused at once, forever
	if r, err := o.Run(t.Context()); !errors.Is(err, ErrStuck) || r == nil {
		t.Errorf("%+v, %v: want ErrStuck", r, err)
	}
}

// looping has 256 loops, and a server of 100 a second with a queue of 50 that refuses within 10 ms.
func looping(p retry.Policy) Overload {
	return Overload{
		Loops: 256, Layers: []Layer{{Policy: p.With(retry.AttemptTimeout(time.Second))}}, Service: Service{Mean: 10 * time.Millisecond}, Queue: 50, Refusal: 10 * time.Millisecond,
		Horizon: time.Minute,
	}
}

// gRPC's retryThrottling (gRFC A6): each failure takes a token, and a call retries only above half of the tokens.
func TestFailuresTakeTokens(t *testing.T) {
	o := operation{policy: retry.New(backoff.Constant(time.Second), retry.WithBudget(retry.NewBudget(10, 5.05, 0.1))), takes: 1}
	budget, _ := o.policy.Budget()
	for n, want := range []bool{true, true, true, true, false, false} { // 9, 8, 7, 6, 5, 4 tokens
		if _, err := o.fail(errFailed, 0, 0); (err == nil) != want || budget.Tokens() != float64(9-n) {
			t.Errorf("failure %d: %v, %v tokens left", n+1, err, budget.Tokens())
		}
	}
	for range 20 { // 4 and 2 tokens
		succeed(o.policy)
	}
	if _, err := o.fail(errFailed, 0, 0); err == nil { // 5
		t.Error("a retry with half of the tokens")
	}
	succeed(o.policy)
	budget.Add(1)
	if _, err := o.fail(errFailed, 0, 0); err != nil { // 5.1
		t.Error(err)
	}
}

// 200 processes with gRPC's throttle recover from a load of 80 after about a minute.
func TestGRPCRecovers(t *testing.T) {
	p := retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(time.Second).Jitter(jitter.Deviation(0.2)), retry.Limit(3), retry.AttemptTimeout(time.Second),
		retry.WithBudget(retry.NewBudget(10, 5.05, 0.1)))
	b := Boundary{Overload: stalled(0, 5*time.Second), Callers: []Callers{{"grpc", []Layer{{Policy: p, Processes: 200, FailureTakes: 1}}}}, Loads: []float64{80}, Runs: 10}
	r, err := b.Run(t.Context())
	if err != nil || r.Points[0].Recovered < 5 || r.Points[0].Recovered+r.Points[0].Late < 10 || r.Points[0].After.Least < 50*time.Second {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestTriggerFinishes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		tr := Trigger{At: time.Duration(rng.Int64N(2000)), For: time.Duration(rng.Int64N(3) * rng.Int64N(1000))}
		start, work := time.Duration(rng.Int64N(5000)), time.Duration(1+rng.IntN(2000))
		at := start
		for done := time.Duration(0); done < work; at++ { // a nanosecond at a time
			if at < tr.At || at >= tr.At+tr.For {
				done++
			}
		}
		if got := tr.finish(start, work); got != at {
			t.Fatalf("%+v: work of %d from %d is done at %d, want %d", tr, work, start, got, at)
		}
	}
	if got := (Trigger{For: never}).finish(5, 1); got != never {
		t.Errorf("a standstill for good ends at %v", got)
	}
}

// randomOverload returns an Overload with at most a few thousand requests.
func randomOverload(rng *rand.Rand) Overload {
	backoffs := []backoff.Backoff{full, backoff.Constant(50 * time.Millisecond), backoff.Linear(100 * time.Millisecond).Tiled(), backoff.Decorrelated(10 * time.Millisecond).Cap(time.Second)}
	o := Overload{
		Load:    20 + 90*rng.Float64(),
		Service: Service{Mean: 10 * time.Millisecond},
		Queue:   rng.IntN(2) * (1 + rng.IntN(60)), Drop: rng.IntN(3) == 0,
		Trigger: Trigger{At: time.Second, For: time.Duration(rng.Int64N(3e9))},
		Horizon: 10 * time.Second, Seed: rng.Uint64(),
	}
	o.Refusal = time.Duration(rng.Int64N(2) * rng.Int64N(1e8))
	o.Failures = float64(rng.IntN(2)) * 0.3 * rng.Float64()
	for range 1 + rng.IntN(3) {
		l := Layer{
			Policy:    retry.New(backoffs[rng.IntN(len(backoffs))], retry.Limit(rng.IntN(4))),
			Processes: rng.IntN(4),
		}
		if rng.IntN(3) == 0 {
			l.Policy = l.Policy.With(retry.ResetAfter(time.Duration(1 + rng.Int64N(1e9))))
		}
		if rng.IntN(3) > 0 {
			l.Policy = l.Policy.With(retry.AttemptTimeout(time.Duration(1 + rng.Int64N(2e9))))
		}
		if rng.IntN(3) == 0 {
			l.Policy = l.Policy.With(retry.WithBudget(retry.NewBudget(5, 1, 0.2).Refill(float64(rng.IntN(2)))))
			l.FailureTakes = float64(rng.IntN(2))
		}
		o.Layers = append(o.Layers, l)
	}
	return o
}

func TestOverloadRefuses(t *testing.T) {
	good := func() Overload { return stalled(50, time.Second, retrying(1)) }
	refuses(t, good, "Overload", map[string]func(*Overload){
		"Load is 0, want more than 0, or a Trace or Loops instead of it":             func(o *Overload) { o.Load = 0 },
		"Load is NaN, want more than 0, or a Trace or Loops instead of it":           func(o *Overload) { o.Load = math.NaN() },
		"Load is 50, want more than 0, or a Trace or Loops instead of it":            func(o *Overload) { o.Trace = []time.Duration{1} },
		"Trace[1] is 1ns, want at least 0, and no earlier than the one before it":    func(o *Overload) { o.Load, o.Trace = 0, []time.Duration{2, 1} },
		"len(Layers) is 0, want 1 to 10":                                             func(o *Overload) { o.Layers = nil },
		"Layers[0].Processes is -1, want 0 to 10000":                                 func(o *Overload) { o.Layers = []Layer{{Processes: -1}} },
		"Service.Mean is 0s, want 1ns to 2562047h47m16.854775807s":                   func(o *Overload) { o.Service.Mean = 0 },
		"Queue is -1, want 0 to 10000000":                                            func(o *Overload) { o.Queue = -1 },
		"Load is 49, want more than 0, or a Trace or Loops instead of it":            func(o *Overload) { o.Load, o.Loops = 49, 2 },
		"Loops is -1, want 0 to 10000000":                                            func(o *Overload) { o.Loops = -1 },
		"Refusal is -1ns, want at least 0":                                           func(o *Overload) { o.Refusal = -1 },
		"Layers[0].FailureTakes is NaN, want 0 to 1e+09":                             func(o *Overload) { o.Layers = []Layer{{FailureTakes: math.NaN()}} },
		"Trigger.At is -1ns, want at least 0":                                        func(o *Overload) { o.Trigger.At = -1 },
		"Trigger.For is -1ns, want at least 0":                                       func(o *Overload) { o.Trigger.For = -1 },
		"Failures is 1.5, want 0 to 1":                                               func(o *Overload) { o.Failures = 1.5 },
		"Healthy is -1ns, want at least 0":                                           func(o *Overload) { o.Healthy = -1 },
		"Horizon is -1ns, want 0s to 2562047h47m16.854775806s":                       func(o *Overload) { o.Horizon = -1 },
		"Bin is 1ms, want at least 18.310547ms: at most 16384 bins in a run of 5m0s": func(o *Overload) { o.Bin = time.Millisecond },
		"Bin is -1ns, want at least 0":                                               func(o *Overload) { o.Bin = -1 },
		"Load·Horizon is 3e+11, want at most 1073741824 operations":                  func(o *Overload) { o.Load = 1e9 },
	})
}

// Without a Bin a run may be as long as it likes: the bins become as wide as it needs.
func TestOverloadBinFitsTheRun(t *testing.T) {
	for horizon, want := range map[time.Duration]time.Duration{
		time.Hour: time.Second, maxTraffic * time.Second: time.Second + 1, 2 * maxTraffic * time.Second: 2*time.Second + 1,
	} {
		o := Overload{Trace: []time.Duration{0}, Layers: []Layer{{}}, Service: Service{Mean: time.Second}, Horizon: horizon}
		if r := mustRun(t, o); r.Flow.Bin != want || len(r.Flow.Offered) > maxTraffic {
			t.Errorf("%v: %d bins of %v, want bins of %v", horizon, len(r.Flow.Offered), r.Flow.Bin, want)
		}
	}
}

func TestOverloadStopped(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := stalled(50, 5*time.Second, retrying(3))
	o.Horizon = 4 * time.Hour
	o.Progress = func(done, total int64) {
		if total != 4*3600*1000 || done > total {
			t.Errorf("%d of %d ms", done, total)
		}
		cancel()
	}
	r, err := o.Run(ctx)
	if stopped, ok := errors.AsType[*StoppedError](err); !ok || !errors.Is(err, context.Canceled) || r == nil || r.Operations == 0 || stopped.At == 0 {
		t.Errorf("%v, %v", r, err)
	}
	o = stalled(50, 5*time.Second, Layer{Policy: noWait})
	o.Queue = 1
	if _, err = o.Run(t.Context()); !errors.Is(err, ErrStuck) {
		t.Errorf("%v, want ErrStuck of callers that never wait", err)
	}
	for _, l := range []Layer{{Policy: retry.New(backoff.Backoff{}, retry.WithBudget(retry.NewBudget(5000, 1, 0)))}, {Policy: retry.New(backoff.Backoff{}, retry.Limit(5000))}} {
		o.Layers, o.Horizon = []Layer{l}, 22*time.Second
		if _, err = o.Run(t.Context()); err != nil {
			t.Errorf("%v, want callers that come to an end", err)
		}
	}
}

func TestOverloadAsJSON(t *testing.T) {
	o := stalled(50, time.Second, Layer{Policy: retry.New(full, retry.Limit(2), retry.AttemptTimeout(time.Second), tenth()), Processes: 3})
	text := marshal(t, o)
	var back Overload
	if err := json.Unmarshal([]byte(text), &back); err != nil || marshal(t, back) != text {
		t.Errorf("read back %s it is %+v, %v", text, back, err)
	}
	want, got := mustRun(t, o), mustRun(t, back)
	if !reflect.DeepEqual(want, got) {
		t.Error("what was read back gives another result")
	}
	var result OverloadResult
	if err := json.Unmarshal([]byte(marshal(t, want)), &result); err != nil || !reflect.DeepEqual(*want, result) {
		t.Errorf("read back the result is %+v, %v", result, err)
	}
	o.Seed++
	if reflect.DeepEqual(want, mustRun(t, o)) {
		t.Error("another seed gives the same result")
	}
}

// Overloads with different policies have the same arrivals and work.
func TestOverloadArrivalsDoNotDependOnThePolicy(t *testing.T) {
	a, b := mustRun(t, stalled(50, time.Second, retrying(0))), mustRun(t, stalled(50, time.Second, retrying(5)))
	if !reflect.DeepEqual(a.Flow.Arrived, b.Flow.Arrived) {
		t.Error("the arrivals differ")
	}
}

// Computed by hand: three operations of a second's work each, at 0, 0 and 4 s.
func TestOverloadIsExact(t *testing.T) {
	o := Overload{
		Trace:   []time.Duration{0, 0, 4 * time.Second},
		Layers:  []Layer{{Policy: retry.New(backoff.Constant(500*time.Millisecond), retry.Limit(1), retry.AttemptTimeout(1500*time.Millisecond))}},
		Service: Service{Mean: time.Second}, Healthy: time.Second, Horizon: 10 * time.Second,
	}
	// The second waits, leaves at 1.5 s and retries at 2 s, just when the server has finished its wasted request.
	r := mustRun(t, o)
	f := r.Flow
	want := Flow{
		Bin:       time.Second,
		Arrived:   []int64{2, 0, 0, 0, 1, 0, 0, 0, 0, 0},
		Healthy:   []int64{1, 0, 0, 0, 1, 0, 0, 0, 0, 0},
		Succeeded: []int64{0, 1, 0, 1, 0, 1, 0, 0, 0, 0},
		Offered:   []int64{2, 0, 1, 0, 1, 0, 0, 0, 0, 0},
		Refused:   make([]int64, 10),
		Wasted:    []int64{0, 0, 1, 0, 0, 0, 0, 0, 0, 0},
		Queue:     []int64{1, 0, 0, 0, 0, 0, 0, 0, 0, 0},
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("the flow is\n%+v, want\n%+v", f, want)
	}
	if r.Wait.Most != time.Second || r.Wait.Mean != 250*time.Millisecond || r.Latency.Least != time.Second || r.Latency.Most != 3*time.Second {
		t.Errorf("waits %+v, latencies %+v", r.Wait, r.Latency)
	}
	if !recovered(r) || r.Recovery.After != time.Second {
		t.Errorf("recovered %v after %v", recovered(r), r.Recovery.After)
	}
	// Four healthy seconds are too few.
	o.Horizon = 6 * time.Second
	if r := mustRun(t, o); recovered(r) {
		t.Errorf("recovered after %v, with four seconds to see it", r.Recovery.After)
	}
	// Bins before the end of the trigger do not count as a recovery.
	o.Horizon, o.Trigger = 10*time.Second, Trigger{At: 5 * time.Second, For: 10 * time.Second}
	if r := mustRun(t, o); recovered(r) {
		t.Errorf("recovered after %v, before the end of the trigger", r.Recovery.After)
	}
	o.Trigger.For = time.Second
	if r := mustRun(t, o); r.Recovery.Verdict != UnhealthyBefore { // because of the first bin
		t.Errorf("%v, want not healthy before", r.Recovery)
	}
}

func TestOverloadHealthyIsWithinTheTimeout(t *testing.T) {
	o := Overload{Layers: []Layer{{}, {Policy: retry.New(full, retry.AttemptTimeout(3*time.Second))}}}
	if got := o.healthy(); got != 3*time.Second {
		t.Errorf("healthy within %v, want the first timeout of the layers", got)
	}
	if got := (&Overload{}).healthy(); got != time.Second {
		t.Errorf("healthy within %v, want a second where there is no timeout", got)
	}
}

// Each process of a layer has its own golden sequence and its own budget.
func TestLayerPolicies(t *testing.T) {
	l := Layer{Policy: retry.New(backoff.Linear(time.Second).Tiled(), retry.WithBudget(retry.NewBudget(2, 1, 0))), Processes: 2}
	all := l.policies(newRand(1))
	if len(all) != 2 {
		t.Fatalf("%d policies", len(all))
	}
	place := func(p retry.Policy) float64 {
		o := operation{policy: p}
		_, err := o.fail(errFailed, 0, 0)
		must(t, err)
		return word(t, o.state, "place")
	}
	golden := (math.Sqrt(5) - 1) / 2
	for i, p := range all {
		first, second := place(p), place(p)
		if _, step := math.Modf(second - first + 1); math.Abs(step-golden) > 1e-9 {
			t.Errorf("process %d: a step of %v, want the golden ratio", i, step)
		}
		o := operation{policy: p}
		if _, err := o.fail(errFailed, 0, 0); !errors.Is(err, retry.ErrBudget) {
			t.Errorf("process %d: %v, want its budget of two to be spent", i, err)
		}
	}
}

// word returns the number behind a word of the state's text form.
func word(t *testing.T, s retry.State, name string) float64 {
	t.Helper()
	text, err := s.MarshalText()
	must(t, err)
	for field := range strings.FieldsSeq(string(text)) {
		if value, ok := strings.CutPrefix(field, name+"="); ok {
			n, err := strconv.ParseFloat(value, 64)
			must(t, err)
			return n
		}
	}
	t.Fatalf("%s has no %s", text, name)
	return 0
}

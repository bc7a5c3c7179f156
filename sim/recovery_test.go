package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/retry"
)

// steady returns times with the given rate per second in a number of seconds, from the beginning of one on.
func steady(from, seconds, rate int) []time.Duration {
	var all []time.Duration
	for i := range seconds * rate {
		all = append(all, time.Duration(from)*time.Second+time.Duration(i)*time.Second/time.Duration(rate))
	}
	return all
}

func TestRecovery(t *testing.T) {
	const s = time.Second
	one := Service{Mean: time.Millisecond}
	for name, test := range map[string]struct {
		o    Overload
		want Recovery
	}{
		"at once":           {Overload{Trigger: Trigger{At: 10 * s, For: 100 * time.Millisecond}, Horizon: 60 * s}, Recovery{Recovered, 0, 60*s - 10100*time.Millisecond}},
		"without a trigger": {Overload{Horizon: 60 * s}, Recovery{Recovered, 0, 60 * s}},
		// Requests of the stall's last second succeed at its end.
		"after the stall's last second": {Overload{Trigger: Trigger{At: 10 * s, For: 5 * s}, Horizon: 60 * s}, Recovery{Recovered, 0, 45 * s}},
		// Half the capacity is free: an operation that comes x s after the beginning waits for 5-x/2 s, and serving
		// takes 50 ms.
		"after the queue":             {Overload{Service: Service{Mean: 50 * time.Millisecond}, Trigger: Trigger{At: 10 * s, For: 5 * s}, Horizon: 60 * s}, Recovery{Recovered, 4 * s, 45 * s}},
		"too late to see":             {Overload{Trigger: Trigger{At: 10 * s, For: 5 * s}, Horizon: 19 * s}, Recovery{NotRecovered, 0, 4 * s}},
		"after the end":               {Overload{Trigger: Trigger{At: 70 * s, For: 5 * s}, Horizon: 60 * s}, Recovery{NotRecovered, 0, 0}},
		"never":                       {Overload{Trigger: Trigger{At: 10 * s, For: time.Hour}, Horizon: 60 * s}, Recovery{NotRecovered, 0, 0}},
		"too much from the beginning": {Overload{Service: Service{Mean: 200 * time.Millisecond}, Trigger: Trigger{At: 10 * s, For: 5 * s}, Horizon: 60 * s}, Recovery{UnhealthyBefore, 0, 45 * s}},
		"a trigger at the beginning":  {Overload{Service: Service{Mean: 200 * time.Millisecond}, Trigger: Trigger{For: 5 * s}, Horizon: 60 * s}, Recovery{NotRecovered, 0, 55 * s}},
	} {
		o := test.o
		o.Trace, o.Layers = steady(0, 60, 10), []Layer{retrying(0)}
		if o.Service.Mean == 0 {
			o.Service = one
		}
		for _, o.Bin = range []time.Duration{300 * time.Millisecond, time.Second, 2 * time.Second, 7 * time.Second} {
			if r := mustRun(t, o); r.Recovery != test.want || r.End != o.Horizon {
				t.Errorf("%s, in bins of %v: %v (%v), want %v (%v)", name, o.Bin, r.Recovery, r.Recovery.Within, test.want, test.want.Within)
			}
		}
	}
}

// A recovery comes within a minute of the trigger's end. A second later it is late.
func TestRecoverySoon(t *testing.T) {
	for over, want := range map[time.Duration]Recovery{0: {Recovered, time.Minute, 0}, 2 * time.Second: {RecoveredLate, 62 * time.Second, 0}} {
		// Half the capacity is free, so the queue of a stall of d s takes d s, less the two seconds in which the wait
		// is short.
		o := Overload{Service: Service{Mean: 50 * time.Millisecond}, Trigger: Trigger{At: 10 * time.Second, For: 61*time.Second + over}, Horizon: 300 * time.Second}
		o.Trace, o.Layers = steady(0, 300, 10), []Layer{retrying(0)}
		r := mustRun(t, o).Recovery
		if r.Within = 0; r != want {
			t.Errorf("a stall of %v: %v, want %v", o.Trigger.For, r, want)
		}
	}
}

// Random failures that come in time are healthy, whatever the load, the policy and the layers; those that come late,
// and refusals, are not. Each operation counts once.
func TestRandomFailuresAreNoOverload(t *testing.T) {
	for _, load := range []float64{5, 10} {
		for _, failures := range []float64{0.02, 0.2, 1} {
			for _, layers := range [][]Layer{{retrying(0)}, {retrying(3)}, {retrying(1), retrying(1)}} {
				o := stalled(load, 2*time.Second, layers...)
				o.Failures, o.Horizon = failures, 0
				r := mustRun(t, o)
				var arrived, healthy int64
				for i := range r.Flow.Arrived {
					arrived, healthy = arrived+r.Flow.Arrived[i], healthy+r.Flow.Healthy[i]
				}
				if r.Recovery.Verdict != Recovered || healthy > arrived {
					t.Errorf("a load of %v, %v fail, %d layers: %v, %d of %d are healthy", load, failures, len(layers), r.Recovery, healthy, arrived)
				}
			}
		}
	}
	o := stalled(120, 2*time.Second, retrying(0))
	o.Failures = 1
	if r := mustRun(t, o); r.Recovery.Verdict != UnhealthyBefore && r.Recovery.Verdict != NotRecovered {
		t.Errorf("failures that come late: %v", r.Recovery)
	}
}

// Without a Horizon a run ends when the server has been healthy for 30 s, else 20 minutes after the trigger.
func TestOverloadRunsOnUntilItRecovers(t *testing.T) {
	run := func(o Overload) *OverloadResult {
		o.Horizon = 0
		r := mustRun(t, o)
		long := o
		long.Horizon = r.End
		if again := mustRun(t, long); marshal(t, again) != marshal(t, r) {
			t.Errorf("with its end, %v, as the Horizon it is\n%s\nwant\n%s", r.End, marshal(t, again), marshal(t, r))
		}
		if n := int((r.End-1)/time.Second) + 1; len(r.Flow.Offered) != n || len(r.Flow.Queue) != n {
			t.Errorf("%d and %d bins, want %d", len(r.Flow.Offered), len(r.Flow.Queue), n)
		}
		return r
	}
	o := stalled(80, 5*time.Second, retrying(0))
	r := run(o)
	if want := o.Trigger.end() + r.Recovery.After + calm + time.Second; r.Recovery.Verdict != Recovered || r.End != want {
		t.Errorf("without retries: %v, ended at %v, want %v", r.Recovery, r.End, want)
	}
	o.Layers = []Layer{retrying(3)}
	if r = run(o); r.Recovery.Verdict != NotRecovered || r.Recovery.Within != watch {
		t.Errorf("with three retries: %v", r.Recovery)
	}
	o.Load = 130
	if r = run(o); r.Recovery.Verdict != UnhealthyBefore || r.End != o.Trigger.end()+calm+time.Second {
		t.Errorf("with too high a load: %v, ended at %v", r.Recovery, r.End)
	}
	o = stalled(0, 0, retrying(3))
	o.Load, o.Trace = 0, steady(0, 5, 3)
	if r = run(o); r.Recovery.Verdict != Recovered || r.Recovery.After != 0 {
		t.Errorf("with a trace that ends before the trigger: %v", r.Recovery)
	}
}

// The share of the failures is the given one, and the arrivals do not depend on it.
func TestOverloadFailures(t *testing.T) {
	o := stalled(50, 0, retrying(0))
	before := mustRun(t, o)
	o.Failures = 0.1
	none := mustRun(t, o)
	if share := float64(none.Failed) / float64(none.Offered); share < 0.09 || share > 0.11 || none.GivenUp != none.Failed {
		t.Errorf("%d of %d requests failed, %d operations were given up", none.Failed, none.Offered, none.GivenUp)
	}
	if !slices.Equal(before.Flow.Arrived, none.Flow.Arrived) || before.Failed != 0 {
		t.Errorf("other arrivals, or %d failures without Failures", before.Failed)
	}
	o.Layers = []Layer{retrying(3)}
	three := mustRun(t, o)
	if lost := float64(three.GivenUp) / float64(three.Operations); lost > 0.0005 || three.Failed <= none.Failed {
		t.Errorf("with three retries %.4f of the operations are given up, after %d failures", lost, three.Failed)
	}
	o.Layers[0].Policy = o.Layers[0].Policy.With(retry.Limit(1))
	if one := mustRun(t, o); fmt.Sprintf("%.2f", float64(one.GivenUp)/float64(one.Operations)) != "0.01" {
		t.Errorf("with one retry %d of %d operations are given up, want 1 %%", one.GivenUp, one.Operations)
	}
}

// A run of more than 16,384 s has longer seconds, so that their number is bounded.
func TestTheSecondsOfALongRunAreLonger(t *testing.T) {
	for latest, want := range map[time.Duration]time.Duration{maxTraffic*time.Second - 1: time.Second, 2 * maxTraffic * time.Second: 2*time.Second + 1} {
		if h := newHealth(Trigger{}, time.Second, latest); h.width != want {
			t.Errorf("in a run of %v a second is %v, want %v", latest, h.width, want)
		}
	}
}

// boundary has a standstill of 5 s, for callers without retries, with three, and with a budget.
func boundary() Boundary {
	with := retrying(3)
	with.Policy = with.Policy.With(tenth())
	o := stalled(0, 5*time.Second)
	o.Horizon = time.Minute
	return Boundary{
		Overload: o, Loads: []float64{10, 30, 60}, Runs: 3,
		Callers: []Callers{{"none", []Layer{retrying(0)}}, {"three", []Layer{retrying(3)}}, {"budget", []Layer{with}}},
	}
}

func TestBoundaryIsOfItsOverloads(t *testing.T) {
	b := boundary()
	last := int64(0)
	b.Progress = func(done, total int64) {
		if done <= last || done > total || total != millionths {
			t.Errorf("progress of %d, of %d, after %d", done, total, last)
		}
		last = done
	}
	var got *BoundaryResult
	for _, cores := range []int{1, 3} {
		onCores(t, cores, func() {
			last = 0
			r, err := b.Run(t.Context())
			if err != nil || got != nil && !reflect.DeepEqual(r, got) {
				t.Fatalf("on %d cores it is %+v, %v", cores, r, err)
			}
			got = r
		})
	}
	if !reflect.DeepEqual(got.Highest, []float64{60, 10, 60}) || len(got.Points) != 9 {
		t.Errorf("the highest are %v", got.Highest)
	}
	for i, p := range got.Points {
		callers := b.Callers[i/3]
		recovered, amplification, succeeded := 0, 0.0, 0.0
		var after time.Duration
		for run := range uint64(b.Runs) {
			o := b.Overload
			o.Load, o.Layers, o.Seed = b.Loads[i%3], callers.Layers, run
			r := mustRun(t, o)
			if r.Recovery.Verdict == Recovered {
				recovered++
				after = max(after, r.Recovery.After)
			}
			amplification += r.Amplification / 3
			succeeded += float64(r.Succeeded) / float64(r.Operations) / 3
		}
		off := func(got, want float64) bool { return got-want > 1e-5 || want-got > 1e-5 }
		if p.Callers != callers.Name || p.Load != b.Loads[i%3] || p.Recovered != recovered || p.After.Most != after || p.After.Count != recovered ||
			off(p.Amplification.Mean, amplification) || off(p.Succeeded.Mean, succeeded) {
			t.Errorf("point %d is %+v, want %d recovered, the last after %v; %v requests, %v succeed", i, p, recovered, after, amplification, succeeded)
		}
	}
	var back BoundaryResult
	if err := json.Unmarshal([]byte(marshal(t, got)), &back); err != nil || !reflect.DeepEqual(*got, back) {
		t.Errorf("read back it is %+v, %v", back, err)
	}
}

func TestBoundaryStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	b := boundary()
	b.Runs, b.Loads = 40, []float64{10, 20}
	b.Progress = func(done, _ int64) {
		if done > 400_000 {
			cancel()
		}
	}
	r, err := b.Run(ctx)
	if stopped, ok := errors.AsType[*StoppedError](err); !ok || !errors.Is(err, context.Canceled) || stopped.Model != "Boundary" || stopped.Total != 240 ||
		len(r.Points) < 2 || len(r.Points) == 6 || r.Highest[0] != 20 || r.Highest[2] != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	b = boundary()
	b.Overload.Queue, b.Callers = 1, []Callers{{Layers: []Layer{{Policy: noWait}}}}
	if _, err := b.Run(t.Context()); !errors.Is(err, ErrStuck) {
		t.Errorf("%v, want ErrStuck", err)
	}
}

func TestBoundaryRefuses(t *testing.T) {
	refuses(t, boundary, "Boundary", map[string]func(*Boundary){
		"Runs is 0, want 1 to 2147483647":                                func(b *Boundary) { b.Runs = 0 },
		"len(Callers) is 0, want 1 to 10000000":                          func(b *Boundary) { b.Callers = nil },
		"len(Loads) is 0, want 1 to 10000000":                            func(b *Boundary) { b.Loads = nil },
		"Loads[1] is 5, want more than the one before it, 5":             func(b *Boundary) { b.Loads = []float64{5, 5} },
		"Load is 0, want more than 0, or a Trace or Loops instead of it": func(b *Boundary) { b.Loads = []float64{0, 5} },
		"Load is 1e+10, want 0 to 1e+09":                                 func(b *Boundary) { b.Loads = []float64{5, 1e10} },
		"len(Layers) is 0, want 1 to 10":                                 func(b *Boundary) { b.Callers[1].Layers = nil },
		"Service.Mean is 0s, want 1ns to 2562047h47m16.854775807s":       func(b *Boundary) { b.Overload.Service.Mean = 0 },
	})
}

// A load from which the server recovers only in some runs is too high.
func TestBoundaryCountsAllRuns(t *testing.T) {
	b := boundary()
	b.Callers, b.Loads, b.Runs = []Callers{{"one", []Layer{retrying(1)}}}, []float64{44, 45, 46, 47, 48}, 12
	r := mustRun(t, b)
	for _, p := range r.Points {
		if p.Recovered < p.Runs {
			if p.Recovered == 0 || p.Load <= r.Highest[0] {
				t.Errorf("the first load from which not all recover is %v, with %d; the highest is %v", p.Load, p.Recovered, r.Highest[0])
			}
			return
		}
	}
	t.Errorf("all recover: %+v", r.Points)
}

package sim

import (
	"fmt"
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

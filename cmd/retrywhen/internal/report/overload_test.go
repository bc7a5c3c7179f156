package report

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/sim"
)

func TestOverloadVerdicts(t *testing.T) {
	o := DefaultOverload()
	r := must(o.Run(t.Context()))
	for i, want := range []string{"recovers in 0 of 10 runs", "recovers in 10 of 10 runs, after 16s", "recovers in 10 of 10 runs, after 16s"} {
		if got := r.Strategies[i].Verdict(); got != want || (r.Strategies[i].Grade() == Well) != (i > 0) {
			t.Errorf("%s: %s, want %s", r.Strategies[i].Name, got, want)
		}
	}
	o.Trigger.For, o.Runs = time.Millisecond, 3
	if r = must(o.Run(t.Context())); r.Strategies[0].Verdict() != "recovers in 3 of 3 runs, at once" {
		t.Errorf("after a standstill of 1ms: %v", r)
	}
	o.Load = 130
	if r = must(o.Run(t.Context())); r.Strategies[0].Verdict() != "was not healthy before" || !strings.Contains(r.Page().(*overloadPage).Sentence, "“3 retries”, “3 retries and a budget” and “no retry” keep the server down.") {
		t.Errorf("with too high a load: %v", r)
	}
	o = DefaultOverload()
	o.Runs, o.Strategies = 2, strategies(t, "200: exponential base=100ms factor=2 cap=10s jitter=full limit=3 budget=10,1,0.1 processes=200")
	if r = must(o.Run(t.Context())); r.Strategies[0].Verdict() != "recovers in 0 of 2 runs within 1m, and in 2 later" || r.Strategies[0].Grade() != Late {
		t.Errorf("200 processes: %s", r.Strategies[0].Verdict())
	}
	o.Runs, o.Horizon = 1, 3*time.Minute
	if r = must(o.Run(t.Context())); r.Strategies[0].Verdict() != "recovers only after 2m7s" || r.Strategies[0].Grade() != Late {
		t.Errorf("200 processes once: %s", r.Strategies[0].Verdict())
	}
}

// Without a Bin the bins are as wide as the longest run needs.
func TestOverloadOfALongStall(t *testing.T) {
	o := DefaultOverload()
	o.Trigger.For, o.Load, o.Strategies = 9*time.Hour, 1, o.Strategies[:1]
	o.Runs = 1
	r, err := o.Run(t.Context())
	if err != nil || r.Page().(*overloadPage).Bin < Seconds(9*time.Hour/150) {
		t.Errorf("%v, %+v, want wider bins", err, r)
	}
}

// Without a Horizon the charts end at 1.5 times the longest recovery, at least after a minute, and show the median run.
func TestOverloadEndsSoonAfterTheRecovery(t *testing.T) {
	o := DefaultOverload()
	o.Runs = 5
	for stall, want := range map[time.Duration]time.Duration{time.Millisecond: time.Minute, 15 * time.Second: 0} {
		o.Trigger.For = stall
		r := must(o.Run(t.Context()))
		longest := time.Duration(0)
		for i, x := range r.Strategies {
			longest = max(longest, x.Runs.After.Most)
			run := o.Overload
			run.Layers, run.Horizon, run.Seed = o.Strategies[i].layers(o.Timeout), r.Horizon, uint64(x.Runs.Median)
			again, err := run.Run(t.Context())
			if err != nil || again.Offered != x.Result.Offered || x.Result.End != r.Horizon {
				t.Errorf("%s: %d requests, %v; want those of run %d, %d", x.Name, x.Result.Offered, err, x.Runs.Median, again.Offered)
			}
		}
		if want == 0 {
			want = (o.Trigger.At + stall + longest) * 3 / 2
		}
		if r.Horizon != want || longest > 0 != (stall > time.Second) {
			t.Errorf("a stall of %v: the charts end at %v, want %v", stall, r.Horizon, want)
		}
	}
	o.Horizon, o.Trigger.For = 12*time.Second, 5*time.Second // within the stall
	if r, err := o.Run(t.Context()); err != nil || r.Strategies[1].Runs.Recovered != 5 || r.Strategies[1].Result.End != o.Horizon {
		t.Errorf("%+v, %v: want charts up to 12s, and the runs as they are", r, err)
	}
}

// The bars of a long run stand for several bins, so that there are at most 150.
func TestOverloadBars(t *testing.T) {
	o := DefaultOverload()
	o.Strategies, o.Load, o.Bin = o.Strategies[:1], 1, time.Second
	for horizon, want := range map[time.Duration]int{150 * time.Second: 150, 151 * time.Second: 76} {
		o.Horizon = horizon
		r := must(o.Run(t.Context()))
		if bars := r.Figure().Panels[0].Marks[0].(picture.Bars).Bars; len(bars) != want {
			t.Errorf("%d bars in %v, want %d", len(bars), horizon, want)
		}
	}
}

// The text says how the server returns. The chart marks a recovery that took time.
func TestOverloadReturns(t *testing.T) {
	o := OverloadResult{of: DefaultOverload(), Trigger: sim.Trigger{At: time.Second, For: 5 * time.Second}}
	for loops, want := range map[int]string{0: "Load: 80 operations per second. ", 256: "Load: 256 callers, each of which starts its next operation when its last one has ended. "} {
		o.of.Loops, o.Load = loops, 80
		if !strings.HasPrefix(o.setting(), want) || !strings.HasSuffix(o.setting(), "it stands still for 5s.") {
			t.Errorf("%q, want %q", o.setting(), want)
		}
	}
	for _, test := range []struct {
		recovery sim.Recovery
		marked   bool
	}{
		{sim.Recovery{Verdict: sim.Recovered, After: 2 * time.Second}, true}, {sim.Recovery{Verdict: sim.Recovered}, false},
		{sim.Recovery{Verdict: sim.NotRecovered, After: 2 * time.Second}, false},
	} {
		x := OverloadStrategyResult{Result: &sim.OverloadResult{Recovery: test.recovery}}
		if at, ok := x.recovered(o.back()); ok != test.marked || ok && at != 8*time.Second {
			t.Errorf("%+v: %v, %v", test.recovery, at, ok)
		}
	}
}

func TestOverloadVerdictOfOneRun(t *testing.T) {
	for verdict, want := range map[sim.Verdict]string{sim.NotRecovered: "does not recover within 1m", sim.RecoveredLate: "recovers only after 1m30s", sim.UnhealthyBefore: "was not healthy before"} {
		x := OverloadStrategyResult{Runs: &sim.BoundaryPoint{Runs: 1}, Result: &sim.OverloadResult{Recovery: sim.Recovery{Verdict: verdict, After: 90 * time.Second}}}
		if got := x.Verdict(); got != want {
			t.Errorf("%v: %q, want %q", verdict, got, want)
		}
	}
}

func TestOverloadLayers(t *testing.T) {
	s := strategies(t, "linear d=1s layers=3 processes=2 budget=1,1,0", "linear d=1s attempttimeout=2s")
	all := s[0].layers(time.Second)
	if d, ok := all[2].Policy.AttemptTimeout(); len(all) != 3 || !ok || d != time.Second || all[1].Processes != 2 || !strings.Contains(all[0].Policy.String(), "budget=1,1,0") {
		t.Errorf("%+v", all)
	}
	if d, _ := s[1].layers(time.Second)[0].Policy.AttemptTimeout(); d != 2*time.Second {
		t.Errorf("the policy's own timeout has become %v", d)
	}
	if _, ok := s[0].layers(0)[0].Policy.AttemptTimeout(); ok {
		t.Error("no timeout has become one")
	}
}

func TestOverloadInterrupted(t *testing.T) {
	o := DefaultOverload()
	r, err := o.Run(ended(t))
	if !errors.Is(err, context.Canceled) || r == nil || len(r.Strategies) != 3 || r.Strategies[0].Verdict() != "stopped early" {
		t.Errorf("%+v, %v: want the strategies without runs, and the end of the context", r, err)
	}
	if s := r.Page().(*overloadPage).Sentence; s != "The time was over: “3 retries”, “3 retries and a budget” and “no retry” are not finished." {
		t.Errorf("the sentence is %q", s)
	}
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress, o.Runs = atEnd(cancel), 8
	if r, err = o.Run(ctx); !errors.Is(err, context.Canceled) || r.Strategies[0].Runs == nil || r.Strategies[2].Runs != nil {
		t.Errorf("%+v, %v: want the first strategy alone, and the end of the context", r, err)
	}
	o.Progress = nil
	o.Work, o.Horizon = time.Nanosecond, time.Minute
	if r, err = o.Run(t.Context()); err != nil || len(r.Strategies) != 3 || r.Strategies[0].Note == "" || !slices.Contains(r.Text(maxWidth), r.Strategies[0].Note) {
		t.Errorf("%+v, %v", r, err)
	}
	// Of what is stopped the runs that are done are shown.
	o.Work, o.Runs, o.Strategies = 0, 400, o.Strategies[:1]
	ctx, cancel = context.WithCancel(t.Context())
	o.Progress = func(string) func(int64, int64) { return func(int64, int64) { cancel() } }
	if r, _ = o.Run(ctx); r.Strategies[0].Runs == nil || r.Strategies[0].Runs.Runs >= 400 || !strings.Contains(r.Strategies[0].Verdict(), fmt.Sprintf("of %d runs", r.Strategies[0].Runs.Runs)) {
		t.Errorf("%+v: want some of 400 runs", r.Strategies[0])
	}
	o.Progress, o.Runs = nil, 1
	o.Horizon = -1
	if r, err = o.Run(t.Context()); err == nil || r != nil {
		t.Errorf("%+v, %v: want what is wrong with the horizon", r, err)
	}
}

// The words about the time within which operations are answered fit all policies.
func TestOverloadOfSeveralTimeouts(t *testing.T) {
	o := DefaultOverload()
	o.Runs, o.Strategies = 1, strategies(t, "a: constant d=1s limit=1 attempttimeout=1s", "b: constant d=1s limit=1 attempttimeout=5s")
	r := must(o.Run(t.Context()))
	if text := strings.Join(strings.Fields(strings.Join(r.Text(maxWidth), " ")), " "); !strings.Contains(text, "are answered within their attempt timeout.") {
		t.Errorf("%s\nwant the attempt timeout of each", text)
	}
}

// If only some runs were not healthy before the stall, the verdict has their number.
func TestOverloadUnhealthyInSomeRuns(t *testing.T) {
	x := OverloadStrategyResult{Runs: &sim.BoundaryPoint{Runs: 10, Unhealthy: 6}, Result: &sim.OverloadResult{Recovery: sim.Recovery{Verdict: sim.UnhealthyBefore}}}
	if got, want := x.Verdict(), "recovers in 0 of 10 runs, and was not healthy before in 6"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// A boundary that is interrupted says nothing about policies and loads without runs.
func TestBoundaryInterrupted(t *testing.T) {
	b := Boundary{Overload: DefaultOverload(), Loads: []float64{1, 2}}
	r, err := b.Run(ended(t))
	if err == nil || r == nil {
		t.Fatalf("%+v, %v: want the end of the context", r, err)
	}
	for _, row := range r.rows() {
		if !slices.Equal(row[1:], []string{"-", "not finished", "-"}) {
			t.Errorf("%q", row)
		}
	}
}

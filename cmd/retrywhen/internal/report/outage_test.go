package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

func TestOutageLimits(t *testing.T) {
	outage := Outage{
		Strategies: strategies(t, "never: linear d=1s limit=0", "twice: linear d=1s limit=2", "on: linear d=1s"),
		Outage:     sim.Outage{Clients: 1, Down: time.Minute, Capacity: 1, Horizon: time.Hour},
	}
	attempts := func() (n []int64) {
		t.Helper()
		r := must(outage.Run(t.Context()))
		for _, x := range r.Strategies {
			n = append(n, x.Result.Attempts)
		}
		return n
	}
	if got := attempts(); fmt.Sprint(got) != "[1 3 12]" {
		t.Errorf("%v attempts, want each policy's own limit", got)
	}
	outage.Limit = 4
	if got := attempts(); fmt.Sprint(got) != "[5 5 5]" {
		t.Errorf("%v attempts, want 4 retries of each", got)
	}
}

func TestOutageInterrupted(t *testing.T) {
	r, err := Outage{Strategies: strategies(t, "linear d=1s", "sidekiq"), Outage: sim.Outage{Clients: 1, Capacity: 1}}.Run(ended(t))
	if err == nil || r == nil || len(r.Strategies) != 1 {
		t.Errorf("%+v, %v: want the first strategy alone, and the end of the context", r, err)
	}
	if r, err = (Outage{Strategies: strategies(t, "linear d=1s")}).Run(t.Context()); err == nil || r != nil {
		t.Errorf("%+v, %v: want what is wrong with an outage without clients", r, err)
	}
}

// The context ends after the first strategy: the second one is stopped.
func TestOutageInterrupted_BetweenStrategies(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	o := Outage{Strategies: strategies(t, "a: constant d=1s", "b: sidekiq"), Progress: atEnd(cancel)}
	o.Clients, o.Down, o.Capacity = 9000, 9*time.Second, 9000
	r, err := o.Run(ctx)
	if !errors.Is(err, context.Canceled) || len(r.Strategies) != 2 || r.Strategies[0].Err != nil || !errors.Is(r.Strategies[1].Err, context.Canceled) {
		t.Errorf("%+v, %v: want the strategies, and the end of the context", r, err)
	}
}

// A strategy that reaches the limit of the work does not stop the others.
func TestOutageThatTakesTooMuchWork(t *testing.T) {
	r, err := Outage{
		Strategies: strategies(t, "constant d=1ns", "constant d=1s"), Work: time.Nanosecond,
		Outage: sim.Outage{Clients: 1000, Down: time.Hour, Capacity: 1},
	}.Run(t.Context())
	if err != nil || len(r.Strategies) != 2 || r.Strategies[0].Err == nil || !strings.HasPrefix(r.Strategies[0].Note, "The time was over after ") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestOutageTraffic(t *testing.T) {
	x := OutageStrategyResult{Result: &sim.OutageResult{Traffic: sim.Traffic{
		Bin: 3 * time.Second, Attempts: make([]int64, 1000), Served: make([]int64, 1000),
	}}}
	for i := range 1000 {
		x.Result.Traffic.Attempts[i], x.Result.Traffic.Served[i] = 2, 1
	}
	if x.End() != 3000*time.Second {
		t.Errorf("the end is %v", x.End())
	}
	bin, attempts, served := x.traffic(x.End()) // 3000 s in at most 150 bars: steps of 30 s, ten bins of the simulation
	if bin != 30*time.Second || len(attempts) != 100 || attempts[0] != 20 || attempts[99] != 20 || served[99] != 10 {
		t.Errorf("bars of %v: %v, %v", bin, attempts, served)
	}
	if bin, attempts, _ := x.traffic(2000 * time.Second); bin != 15*time.Second || attempts[0] != 10 {
		t.Errorf("bars of %v: %v", bin, attempts)
	}
	if bin, _, _ := x.traffic(1500 * time.Second); bin != 9*time.Second {
		t.Errorf("bars of %v, want 10s less what makes no bin of the simulation", bin)
	}
	if bin, _, _ := x.traffic(time.Second); bin != 3*time.Second {
		t.Errorf("bars of %v, want the simulation's", bin)
	}
	x.Result.Traffic.Bin = math.MaxInt64 / 2
	if x.End() != math.MaxInt64 {
		t.Errorf("the end is %v, want the longest duration", x.End())
	}
}

// The peaks are those of a second, however wide the bins of the charts are.
func TestOutagePeakOfALongOutage(t *testing.T) {
	r := must(Outage{Strategies: strategies(t, "constant d=10s"), Outage: sim.Outage{Clients: 3, Capacity: 3, Down: 10 * time.Hour}}.Run(t.Context()))
	x := &r.Strategies[0]
	if text := strings.Join(r.Text(maxWidth), " "); x.Result.Traffic.Bin != 4*time.Second || x.Result.Peak != 3 || !strings.Contains(text, "the most attempts in 1s.") {
		t.Errorf("bins of %v, a peak of %d\n%s", x.Result.Traffic.Bin, x.Result.Peak, text)
	}
}

func TestHerdWindows(t *testing.T) {
	h := Herd{Strategies: strategies(t, "short: constant d=1s", "long: constant d=1h", "none: constant d=0s"), Jobs: 10, Retries: 3}
	if r, err := h.Run(t.Context()); err != nil || r.PeakWindow != ChartBin(r.End()) || r.DeadWindow != 500*time.Millisecond {
		t.Errorf("%+v, %v: want peaks in the bars of the charts, and dead time that fits the shortest of the herds, which lasts 3s", r, err)
	}
	h.Strategies = strategies(t, "constant d=2562047h")
	if r, err := h.Run(t.Context()); err != nil || r.DeadWindow <= 0 {
		t.Errorf("%+v, %v: want windows that fit centuries", r, err)
	}
	h.Strategies = strategies(t, "constant d=1ns")
	if r, err := h.Run(t.Context()); err != nil || r.PeakWindow <= 0 {
		t.Errorf("%+v, %v: want windows that fit nanoseconds", r, err)
	}
	r, err := h.Run(ended(t))
	if !errors.Is(err, context.Canceled) || r.PeakWindow <= 0 || r.DeadWindow <= 0 {
		t.Errorf("%+v, %v: want windows, and the end of the context", r, err)
	}
	if panels := r.Figure().Panels; len(panels) != 0 {
		t.Errorf("a picture of %d panels, want none", len(panels))
	}
}

func TestHerdOfStrategiesThatGiveUp(t *testing.T) {
	r := must(Herd{Strategies: strategies(t, "twice: linear d=1s limit=2", "linear d=2s"), Jobs: 2, Retries: 4, Runs: 1}.Run(t.Context()))
	twice, all := r.Strategies[0], r.Strategies[1]
	if twice.Herd.Retries != 2 || twice.Figures.Total != 3*time.Second || all.Herd.Retries != 4 {
		t.Errorf("limit=2: %+v, without: %+v", twice, all)
	}
	if r.End() != 20*time.Second {
		t.Errorf("the last retry is at %v, want 2+4+6+8 s", r.End())
	}
}

func TestHerdRuns(t *testing.T) {
	for _, test := range []struct{ jobs, retries, runs, want int }{{10, 5, 0, 200}, {10_000, 2, 0, 50}, {600_000, 2, 0, 1}, {10, 5, 7, 7}} {
		r, err := Herd{Strategies: strategies(t, "linear d=1s limit=1"), Jobs: test.jobs, Retries: test.retries, Runs: test.runs}.Run(t.Context())
		if err != nil || r.Runs != test.want {
			t.Errorf("%d jobs, %d retries: %d runs, %v; want %d", test.jobs, test.retries, r.Runs, err, test.want)
		}
	}
}

// A herd without retries is a mistake.
func TestHerdWithoutRetries(t *testing.T) {
	for _, h := range []Herd{{Strategies: strategies(t, "linear d=1s"), Jobs: 2}, {Strategies: strategies(t, "linear d=1s limit=0"), Jobs: 2, Retries: 1}} {
		if _, ok := errors.AsType[*sim.FieldError](func() error { _, err := h.Run(t.Context()); return err }()); !ok {
			t.Error("want an error for 0 retries")
		}
	}
}

// The result keeps everything that was computed before the figures were stopped.
func TestHerdInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var reported []string
	r, err := Herd{
		Strategies: strategies(t, "a: linear d=1s", "b: sidekiq"), Jobs: 2, Retries: 2,
		Progress: func(what string) func(int64, int64) {
			reported = append(reported, what)
			return func(int64, int64) {
				if what == "figures of a" {
					cancel()
				}
			}
		},
	}.Run(ctx)
	if _, ok := errors.AsType[*sim.StoppedError](err); !ok || !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want the end of the context", err)
	}
	if len(r.Strategies) != 2 || r.Strategies[1].Herd == nil || r.Strategies[1].Figures != nil || fmt.Sprint(reported) != "[a b figures of a]" {
		t.Errorf("%+v, progress of %q", r.Strategies, reported)
	}
}

package report

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

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
	r, err := Herd{Strategies: strategies(t, "twice: linear d=1s limit=2", "linear d=2s"), Jobs: 2, Retries: 4, Runs: 1}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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

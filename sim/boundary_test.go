package sim

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

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
	for want, change := range map[string]func(*Boundary){
		"Runs is 0, want 1 to":                         func(b *Boundary) { b.Runs = 0 },
		"len(Callers) is 0":                            func(b *Boundary) { b.Callers = nil },
		"len(Loads) is 0":                              func(b *Boundary) { b.Loads = nil },
		"Loads[1] is 5, want more than the one before": func(b *Boundary) { b.Loads = []float64{5, 5} },
		"Load is 0, want more than 0":                  func(b *Boundary) { b.Loads = []float64{0, 5} },
		"Load is 1e+10, want 0 to":                     func(b *Boundary) { b.Loads = []float64{5, 1e10} },
		"len(Layers) is 0":                             func(b *Boundary) { b.Callers[1].Layers = nil },
		"Service.Mean is 0s":                           func(b *Boundary) { b.Overload.Service.Mean = 0 },
	} {
		b := boundary()
		change(&b)
		r, err := b.Run(t.Context())
		if _, ok := errors.AsType[*FieldError](err); !ok || r != nil || !strings.HasPrefix(err.Error(), "sim: Boundary: "+want) {
			t.Errorf("%v, %v; want %q", r, err, want)
		}
	}
}

// A load from which the server recovers only in some runs is too high.
func TestBoundaryCountsAllRuns(t *testing.T) {
	b := boundary()
	b.Callers, b.Loads, b.Runs = []Callers{{"one", []Layer{retrying(1)}}}, []float64{44, 45, 46, 47, 48}, 12
	r, err := b.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
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

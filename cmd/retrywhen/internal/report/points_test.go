package report

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

func TestClientCounts(t *testing.T) {
	for _, test := range []struct {
		most, points int
		want         string
	}{{100, 10, "[10 20 30 40 50 60 70 80 90 100]"}, {3, 10, "[1 2 3]"}, {1, 1, "[1]"}, {7, 2, "[3 7]"}} {
		if got := fmt.Sprint(clientCounts(test.most, test.points)); got != test.want {
			t.Errorf("ClientCounts(%d, %d) = %s, want %s", test.most, test.points, got, test.want)
		}
	}
}

// A strategy that takes too long keeps its earlier points, and the next strategy has all of its points.
func TestContentionPastTheHorizon(t *testing.T) {
	var reported []string
	r, err := Contention{
		Strategies: strategies(t, "slow: constant d=1h", "quick: constant d=10ms jitter=full"), Clients: 4, Points: 2, Runs: 1,
		Network: sim.DefaultNetwork, Horizon: 10 * time.Minute,
		Progress: func(what string) func(int64, int64) { reported = append(reported, what); return nil },
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	slow, quick := r.Strategies[0], r.Strategies[1]
	if !errors.Is(slow.Err, sim.ErrHorizon) || len(slow.Points) == 2 || quick.Err != nil || len(quick.Points) != 2 {
		t.Errorf("%+v", r.Strategies)
	}
	if fmt.Sprint(reported) != "[contention: slow contention: quick]" {
		t.Errorf("progress of %q", reported)
	}
}

func TestContentionInterrupted(t *testing.T) {
	r, err := Contention{Strategies: strategies(t, "linear d=1s", "sidekiq"), Clients: 4, Points: 1, Runs: 1}.Run(ended(t))
	if err == nil || len(r.Strategies) != 1 {
		t.Errorf("%+v, %v: want the first strategy alone, and the end of the context", r, err)
	}
}

// A boundary that cannot be computed has no result; one that is stopped has its points so far.
func TestBoundaryWithoutAll(t *testing.T) {
	b := Boundary{Overload: DefaultOverload(), Points: 2}
	b.Runs = 0
	if r, err := b.Run(t.Context()); r != nil {
		t.Errorf("%+v, want none without runs", r)
	} else if field, ok := errors.AsType[*sim.FieldError](err); !ok || field.Field != "Runs" {
		t.Errorf("%v, want what is wrong with the runs", err)
	}
	var reported []string
	b.Runs, b.Progress = 1, func(what string) func(int64, int64) { reported = append(reported, what); return nil }
	r, err := b.Run(ended(t))
	if _, ok := errors.AsType[*sim.StoppedError](err); !ok || r == nil || len(r.Points) > 0 {
		t.Errorf("%+v, %v, want no points, and the end of the context", r, err)
	}
	if len(reported) != 1 || reported[0] != "boundary" {
		t.Errorf("progress of %q", reported)
	}
}

package report

import (
	"errors"
	"testing"

	"github.com/retrywhen/retrywhen/sim"
)

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

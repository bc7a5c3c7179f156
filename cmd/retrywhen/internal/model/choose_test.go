package model

import (
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

func TestChoose(t *testing.T) {
	c := Choose{Choose: sim.Choose{Clients: 100, Capacity: 10, Outages: []time.Duration{time.Second}, Runs: 1}}
	r, err := c.Run(t.Context())
	if err != nil || len(r.Strategies) != 7 || r.Strategies[r.Result.Recommended].String() != "one wave, tiled: constant d=11s tiled" {
		t.Errorf("%+v, %v", r, err)
	}
	c.Strategies = strategies(t, "linear d=1s")
	if r, err = c.Run(t.Context()); err != nil || len(r.Strategies) != 1 || r.Strategies[0].Title() != "linear d=1s" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = c.Run(ended(t)); err == nil || r == nil {
		t.Errorf("%+v, %v: want the end of the context", r, err)
	}
	c.Runs = 0
	if r, err = c.Run(t.Context()); err == nil || r != nil {
		t.Errorf("%+v, %v: want what is wrong with the runs", r, err)
	}
}

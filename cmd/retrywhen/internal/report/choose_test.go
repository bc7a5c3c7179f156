package report

import (
	"strings"
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

// The table has the recommended strategy and what no other beats, and says for whom each is.
func TestChooseShows(t *testing.T) {
	c := DefaultChoose()
	c.Runs, c.Outages = 1, c.Outages[:3]
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n := len(r.Shown); n < 3 || n > mostShown {
		t.Errorf("%d of %d are shown", n, len(r.Strategies))
	}
	text := strings.Join(r.Text(maxWidth), "\n")
	for _, i := range r.Shown {
		x := r.Result.Choices[i]
		if !x.Unbeaten && i != r.Result.Recommended {
			t.Errorf("%s is shown, but another beats it", x.Name)
		}
		if !strings.Contains(strings.Join(strings.Fields(text), " "), x.Name+": "+r.whom(i)+".") {
			t.Errorf("no %q in\n%s", r.whom(i), text)
		}
	}
	if got := r.whom(4); !strings.HasPrefix(got, "for those who want fewer refusals (0 instead of ") || !strings.Contains(got, "and accept a longer first wait (") {
		t.Errorf("one wave, tiled is %s", got)
	}
	c.Strategies = strategies(t, "mine: constant d=1s", "mine too: constant d=2s", "a: linear d=1s tiled", "b: linear d=2s tiled", "c: linear d=3s tiled", "d: linear d=4s tiled")
	if r, err = c.Run(t.Context()); err != nil || len(r.Shown) != 6 || len(r.Page().(*choosePage).Strategies) != 6 || r.Page().(*choosePage).Strategies[0].Title != "mine" {
		t.Errorf("%v; not all given policies are shown: %+v", err, r)
	}
}

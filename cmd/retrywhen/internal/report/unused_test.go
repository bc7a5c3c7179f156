package report

import (
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// A word without effect gets a note with the reason, and is left out by Used. The same word is accepted where it has
// one.
func TestNotes(t *testing.T) {
	slots := Outage{Outage: sim.Outage{Slots: true, Timeout: 2 * time.Second}}
	budget := Outage{Budget: retry.NewBudget(10, 1, 0.1)}
	timed := Overload{Timeout: time.Second}
	for _, test := range []struct {
		in   Input
		text string
		word string // that has no effect; "" if all have
		why  string
	}{
		{Show{}, "linear d=1s place=by-key", "place=by-key", "one operation"},
		{Show{}, "linear d=1s layers=3", "layers=3", "one operation"},
		{Show{}, "linear d=1s processes=3", "processes=3", "one operation"},
		{Show{}, "linear d=1s budget=10,1,0.1", "budget=10,1,0.1", "spends none"},
		{Show{}, "linear d=1s attempttimeout=1s", "attempttimeout=1s", "waits alone"},
		{Show{}, "linear d=1s resetafter=1s", "resetafter=1s", "waits alone"},
		{Show{}, "linear d=1s resetafteritems=1", "resetafteritems=1", "waits alone"},
		{Show{}, "linear d=1s maxretryafter=1s", "maxretryafter=1s", "waits alone"},
		{Show{}, "linear d=1s limit=0 within=1m stopat=10s", "", ""},
		{Command{}, "linear d=1s place=by-key", "place=by-key", "one operation"},
		{Command{}, "linear d=1s resetafteritems=1", "resetafteritems=1", "no items"},
		{Command{}, "linear d=1s maxretryafter=1s", "maxretryafter=1s", "dictates no delay"},
		{Command{}, "linear d=1s budget=10,1,0.1 attempttimeout=1s resetafter=1s limit=0", "", ""},
		{Herd{}, "linear d=1s attempttimeout=1s", "attempttimeout=1s", "fails at once"},
		{Herd{}, "linear d=1s resetafter=1s", "resetafter=1s", "fails at once"},
		{Herd{}, "linear d=1s resetafteritems=1", "resetafteritems=1", "delivers items"},
		{Herd{}, "linear d=1s maxretryafter=1s", "maxretryafter=1s", "dictates no delay"},
		{Herd{}, "linear d=1s budget=10,1,0.1", "budget=10,1,0.1", "share none"},
		{Herd{}, "linear d=1s key=3 place=by-ordinal", "key=3", "place=by-ordinal gives each client its own"},
		{Herd{}, "linear d=1s tiled place=by-key limit=3 within=1m stopat=5s plus=1s", "", ""},
		{Contention{}, "linear d=1s attempttimeout=1s", "attempttimeout=1s", "still count"},
		{Contention{}, "linear d=1s processes=2", "processes=2", "neither a budget"},
		{Contention{}, "linear d=1s tiled processes=2", "", ""},
		{Herd{}, "linear d=1s processes=2", "processes=2", "neither a budget"},
		{Herd{}, "linear d=1s tiled processes=2", "", ""},
		{Contention{}, "linear d=1s resetafter=1s budget=10,1,0.1", "", ""},
		{Contention{}, "linear d=1s key=3 place=by-key", "key=3", "place=by-key gives each client its own"},
		{Outage{}, "linear d=1s key=3 place=by-key", "key=3", "place=by-key gives each client its own"},
		{Choose{}, "linear d=1s key=3 place=by-key", "key=3", "place=by-key gives each client its own"},
		{Outage{}, "linear d=1s layers=2", "layers=2", "an overload have layers"},
		{Outage{}, "linear d=1s processes=2", "processes=2", "neither a budget nor the tiles"},
		{Outage{}, "linear d=1s tiled processes=2 place=by-key", "processes=2", "neither a budget nor the tiles"},
		{Outage{}, "linear d=1s tiled processes=2 limit=2", "", ""},
		{Outage{}, "linear d=1s processes=2 budget=10,1,0.1", "", ""},
		{budget, "linear d=1s processes=2", "", ""},
		{Outage{}, "linear d=1s attempttimeout=1s", "attempttimeout=1s", "every attempt fails at once, see --timeout"},
		{slots, "linear d=1s attempttimeout=2s", "attempttimeout=2s", "an attempt fails within 2s"},
		{slots, "linear d=1s attempttimeout=1999ms", "", ""},
		{slots, "linear d=1s resetafter=2001ms", "resetafter=2.001s", "an attempt fails within 2s"},
		{slots, "linear d=1s attempttimeout=1s resetafter=1500ms", "resetafter=1.5s", "an attempt fails within 1s"},
		{slots, "linear d=1s resetafter=2s maxretryafter=1m", "", ""},
		{Outage{}, "linear d=1s maxretryafter=1m", "maxretryafter=1m", "without --slots"},
		{Outage{Limit: 3}, "linear d=1s limit=2", "limit=2", "--limit replaces it"},
		{timed, "linear d=1s place=by-key", "place=by-key", "draws"},
		{timed, "linear d=1s resetafter=2s", "resetafter=2s", "an attempt fails within 1s"},
		{timed, "linear d=1s resetafter=2s attempttimeout=3s limit=0", "", ""},
		{Overload{}, "linear d=1s resetafter=2s", "", ""},
		{timed, "linear d=1s processes=2", "processes=2", "neither a budget"},
		{timed, "linear d=1s processes=2 layers=3 budget=1,1,0", "", ""},
		{timed, "linear d=1s maxretryafter=1m", "maxretryafter=1m", "without --slots"},
		{Choose{}, "linear d=1s attempttimeout=2s", "attempttimeout=2s", "compared alone"},
		{Choose{}, "linear d=1s budget=10,1,0.1", "budget=10,1,0.1", "compared alone"},
		{Choose{}, "linear d=1s processes=2", "processes=2", "--processes is for all"},
		{Choose{}, "linear d=1s cap=9s tiled", "", ""},
	} {
		all := strategies(t, "mine: "+test.text)
		notes, err := Check(test.in, all)
		used := Used(test.in, all[0]).String()
		if test.word == "" {
			if err != nil || len(notes) > 0 || used != all[0].String() {
				t.Errorf("%T, %s: %v, %q, and %q is used", test.in, test.text, err, notes, used)
			}
			continue
		}
		if err != nil || len(notes) != 1 || !strings.Contains(notes[0], test.word+" has no effect here: ") || !strings.Contains(notes[0], test.why) {
			t.Errorf("%T, %s: %v, %q; want a note for %s because %q", test.in, test.text, err, notes, test.word, test.why)
		}
		if strings.Contains(used+" ", " "+test.word+" ") || !strings.HasPrefix(used, "mine: linear d=1s") {
			t.Errorf("%T, %s: %q is used", test.in, test.text, used)
		}
	}
	for _, in := range []Input{Herd{}, Outage{}} {
		if _, err := Check(in, strategies(t, "linear d=1s limit=0")); err == nil || !strings.Contains(err.Error(), "allows no retry") {
			t.Errorf("%T: %v", in, err)
		}
	}
}

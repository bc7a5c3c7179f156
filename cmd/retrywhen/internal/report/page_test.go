package report

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

func herdOf(t *testing.T, texts ...string) Herd {
	return Herd{Strategies: strategies(t, texts...), Jobs: 100, Retries: 5}
}

func herdPageOf(t *testing.T, h Herd) *herdPage {
	t.Helper()
	r, err := h.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r.Page().(*herdPage)
}

// The page shows the figures of the simulation.
func TestHerdPageHasTheFigures(t *testing.T) {
	h := herdOf(t, "sidekiq", "linear d=52.32s tiled")
	h.Runs = 20
	page := herdPageOf(t, h)
	window := func(text string) time.Duration {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	figures, err := sim.Comparison{
		Strategies: []sim.Strategy{h.Strategies[0].Sim(), h.Strategies[1].Sim()}, Jobs: h.Jobs, Retries: h.Retries, Runs: h.Runs, PeakWindow: window(page.Peak), DeadWindow: window(page.Dead),
	}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range figures {
		got := page.Strategies[i].Figures
		if got[0].Value != f.Total.Seconds() || got[1].Value != f.PeakOverMean || got[2].Value != f.DeadShare || got[3].Value != f.MeanCV {
			t.Errorf("%s: %+v, want %+v", f.Name, got, f)
		}
	}
}

func TestHerdPageCountsEveryRetryOnce(t *testing.T) {
	h := herdOf(t, "exponential base=1s factor=2 cap=30s", "exponential base=1s factor=2 cap=30s tiled")
	h.Jobs, h.Retries = 1234, 100
	page := herdPageOf(t, h)
	for _, s := range page.Strategies {
		sum := 0.0
		for _, perSecond := range s.Load {
			sum += perSecond * time.Duration(s.Bin).Seconds()
		}
		if math.Abs(sum-float64(h.Jobs*h.Retries)) > 1e-6 {
			t.Errorf("%s: the load is of %v retries, want %d", s.Title, sum, h.Jobs*h.Retries)
		}
		if len(s.Times) != len(s.Jobs) || len(s.Jobs)*h.Retries*len(page.Strategies) != mostDots {
			t.Errorf("%s: %d jobs are drawn", s.Title, len(s.Jobs))
		}
	}
}

func TestPageOfStrategiesThatDoNotRetry(t *testing.T) {
	texts := []string{"none: linear d=1s limit=0", "two: linear d=1s limit=2"}
	page := herdPageOf(t, herdOf(t, texts...))
	if s := page.Strategies; s[0].Note != "limit=0 allows no retry." || s[0].Times != nil || len(s[1].Times[0]) != 2 {
		t.Errorf("%+v", s)
	}
	o, err := Outage{Strategies: strategies(t, texts...), Outage: sim.Outage{Clients: 3, Capacity: 1}}.Run(t.Context())
	if err != nil || o.Page().(*outagePage).Strategies[0].Note != "limit=0 allows no retry." {
		t.Errorf("%v, %+v", err, o)
	}
}

// After 40 doublings without a cap the waits are longer than a Duration can be. The other strategies are shown.
func TestHerdOfWaitsPastTheLongestDuration(t *testing.T) {
	h := herdOf(t, "far: exponential base=1s factor=2", "at times: exponential base=70h factor=2 jitter=default limit=15", "near: linear d=1s")
	h.Retries = 40
	page := herdPageOf(t, h)
	for i, x := range page.Strategies[:2] { // the second one is too long in some of the runs
		if x.Note != "The sum of its waits is more than 292y." || (x.Times == nil) != (i == 0) || x.Figures != nil {
			t.Errorf("%s: note %q, %d times, figures %v", x.Title, x.Note, len(x.Times), x.Figures)
		}
	}
	if near := page.Strategies[2]; near.Note != "" || len(near.Times) != h.Jobs || near.Figures == nil {
		t.Errorf("%s: note %q, %d times", near.Title, near.Note, len(near.Times))
	}
}

func TestOutageThatTakesNoTime(t *testing.T) {
	o, err := Outage{Strategies: strategies(t, "constant d=0s"), Outage: sim.Outage{Clients: 3, Capacity: 1, Down: time.Second}}.Run(t.Context())
	if err != nil || !strings.Contains(o.Page().(*outagePage).Strategies[0].Note, "retry endlessly at one instant") || o.Incomplete() == nil {
		t.Errorf("%v, %+v", err, o)
	}
}

func TestSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{0: "0", time.Second: "1", 1: "1e-09", 1234567891234: "1234.57", -time.Minute: "-60"} {
		if b, err := json.Marshal(Seconds(d)); err != nil || string(b) != want {
			t.Errorf("%v: %s, %v; want %s", d, b, err, want)
		}
	}
}

// The sentence above each chart is about its figures.
func TestSentences(t *testing.T) {
	for text, want := range map[string]string{
		"a: exponential base=100ms factor=2 jitter=full limit=3": "Under “a” the server recovers in 0 of 10 runs.",
		"a: constant d=1s limit=0":                               "Under “a” the server recovers in 10 of 10 runs, after 16s.",
	} {
		o := DefaultOverload()
		o.Strategies, o.Horizon = strategies(t, text), 2*time.Minute
		r, err := o.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		const setting = "The load is 80 % of the server's capacity. The server stands still for 5s."
		if p := r.Page().(*overloadPage); p.Sentence != want || p.Setting != setting {
			t.Errorf("%s: %q %q, want %q %q", text, p.Setting, p.Sentence, setting, want)
		}
	}
	if h := herdPageOf(t, herdOf(t, "a: constant d=1s jitter=full")); !strings.HasPrefix(h.Sentence, "100 jobs fail together. Under “a” the peak is ") {
		t.Errorf("%q", h.Sentence)
	}
	if h := herdPageOf(t, herdOf(t, "a: constant d=0s")); h.Sentence != "100 jobs fail together, and all retries come at once." {
		t.Errorf("%q", h.Sentence)
	}
	// With one client the axis has length 0.
	r, err := Contention{Strategies: strategies(t, "a: constant d=1s"), Clients: 1, Points: 10, Runs: 3, Network: sim.DefaultNetwork}.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	c := r.Page().(*contentionPage)
	if !strings.HasPrefix(c.Sentence, "1 client needs 1 call under “a”") || c.TimeTicks == nil || c.CallTicks == nil || len(c.Strategies[0].Points) != 1 {
		t.Errorf("%+v", c)
	}
	o, err := Outage{Strategies: strategies(t, "a: constant d=1s"), Outage: sim.Outage{Clients: 1, Capacity: 1}}.Run(t.Context())
	if err != nil || !strings.HasPrefix(o.Page().(*outagePage).Sentence, "1 client waits for a server that is down for 0. At best all are served 0 after its return. “a” takes 0, and 0 attempts fail.") {
		t.Errorf("%v, %+v", err, o)
	}
	x := DefaultChoose()
	x.Clients, x.Served, x.Outages = 100, time.Nanosecond, x.Outages[:1]
	choices, err := x.Run(t.Context())
	if err != nil || !strings.Contains(choices.Page().(*choosePage).Sentence, "no backoff meets the targets") {
		t.Fatalf("%v", err)
	}
	for _, q := range qualities {
		if got := choices.purpose(choices.best(q.figure)); !strings.HasPrefix(got, "for those who want ") || !strings.Contains(got, q.best) {
			t.Errorf("%q, want %q", got, q.best)
		}
	}
}

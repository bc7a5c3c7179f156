package report

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

func herdOf(t *testing.T, texts ...string) Herd {
	return Herd{Strategies: strategies(t, texts...), Jobs: 100, Retries: 5}
}

// After 40 doublings without a cap the waits are longer than a Duration can be. The other strategies are shown.
func TestHerdOfWaitsPastTheLongestDuration(t *testing.T) {
	h := herdOf(t, "far: exponential base=1s factor=2", "at times: exponential base=70h factor=2 jitter=default limit=15", "near: linear d=1s")
	h.Retries = 40
	r, err := h.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range r.Strategies[:2] { // the second one is too long in some of the runs
		if x.Note != "The sum of its waits is more than 292y." || (x.Herd == nil) != (i == 0) || x.Figures != nil {
			t.Errorf("%s: note %q, %v, figures %v", x.Name, x.Note, x.Herd != nil, x.Figures)
		}
	}
	if near := r.Strategies[2]; near.Note != "" || near.Herd == nil || near.Figures == nil {
		t.Errorf("%s: note %q", near.Name, near.Note)
	}
}

// A budget has no effect in a herd.
func TestHerdIgnoresABudget(t *testing.T) {
	r, err := herdOf(t, "with: linear d=1s budget=10,1,0.1", "without: linear d=1s").Run(t.Context())
	if err != nil || r.Strategies[0].Figures.Peak != r.Strategies[1].Figures.Peak || r.Strategies[0].Herd.End != r.Strategies[1].Herd.End || r.Strategies[0].Name != "with" {
		t.Errorf("%+v, %v", r, err)
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
		"a: exponential base=100ms factor=2 jitter=full limit=3": "“a” keeps the server down.",
		"a: constant d=1s limit=0":                               "The server recovers under “a”.",
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
	o, err := Outage{Strategies: strategies(t, "a: constant d=1s"), Outage: sim.Outage{Clients: 1, Capacity: 1}}.Run(t.Context())
	if err != nil || !strings.HasPrefix(o.Page().(*outagePage).Sentence, "1 client waits for a server that is down for 0. At best all are served 0 after its return. “a” takes 0, and 0 attempts fail.") {
		t.Errorf("%v, %+v", err, o)
	}
	x := DefaultChoose()
	x.Clients, x.Served, x.Outages = 100, time.Nanosecond, x.Outages[:1]
	choices, err := x.Run(t.Context())
	if want := "None of these 8 backoffs meets the targets."; err != nil || choices.Page().(*choosePage).Sentence != want || !strings.Contains(strings.Join(choices.Text(maxWidth), " "), want) {
		t.Errorf("%v, %s", err, choices.Page().(*choosePage).Sentence)
	}
}

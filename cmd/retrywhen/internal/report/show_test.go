package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

func of(t *testing.T, text string, rows int) Schedule {
	t.Helper()
	p := must(retry.Parse(text))
	return scheduleOf(Strategy{Policy: p}, rows)
}

func TestRows(t *testing.T) {
	const ms = time.Millisecond
	tests := map[string][]Row{
		"exponential base=100ms factor=2 cap=300ms": {{1, 100 * ms, 100 * ms, 100 * ms, 100 * ms}, {2, 200 * ms, 200 * ms, 200 * ms, 300 * ms}, {3, 300 * ms, 300 * ms, 300 * ms, 600 * ms}},
		"linear d=100ms jitter=equal":               {{1, 50 * ms, 75 * ms, 100*ms - 1, 75 * ms}, {2, 100 * ms, 150 * ms, 200*ms - 1, 225 * ms}},
		"linear d=100ms tiled":                      {{1, 0, 50 * ms, 100*ms - 1, 50 * ms}, {2, 100 * ms, 150 * ms, 200*ms - 1, 200 * ms}},
		"sidekiq":                                   {{1, 15 * time.Second, 30 * time.Second, 45*time.Second - 1, 30 * time.Second}},
	}
	for text, want := range tests {
		got := of(t, text, len(want)).Rows
		if len(got) != len(want) {
			t.Errorf("%s: %d rows, want %d", text, len(got), len(want))
			continue
		}
		for i := range want {
			if near := got[i]; near.N != want[i].N || near.Least != want[i].Least || near.Median != want[i].Median || near.Most-want[i].Most < 0 || near.Most-want[i].Most > 1 || near.Cumulative != want[i].Cumulative {
				t.Errorf("%s: row %d is %+v, want %+v", text, i+1, got[i], want[i])
			}
		}
	}
}

func TestDecorrelatedEndsAreThoseOfTheChain(t *testing.T) {
	rows := of(t, "decorrelated base=100ms cap=2s", 4).Rows
	most := []time.Duration{300 * time.Millisecond, 900 * time.Millisecond, 2 * time.Second, 2 * time.Second}
	for i, r := range rows {
		if r.Least != 100*time.Millisecond || (most[i]-r.Most).Abs() > 100 {
			t.Errorf("%+v, want 100ms and %v", r, most[i])
		}
		if r.Median <= r.Least || r.Median >= r.Most {
			t.Errorf("%+v: the median is not between the ends", r)
		}
	}
	// The first step is uniform between base and 3·base.
	if m := rows[0].Median; (m - 200*time.Millisecond).Abs() > time.Millisecond {
		t.Errorf("the first median is %v, want 200ms", m)
	}
	for _, r := range of(t, "decorrelated base=100ms key=3", 4).Rows {
		if r.Least != r.Median || r.Most != r.Median {
			t.Errorf("keyed: %+v", r)
		}
	}
}

func TestEnd(t *testing.T) {
	tests := []struct {
		text string
		rows int
		end  string
	}{
		{"constant d=1s", 10, ""},
		{"constant d=1s limit=3", 3, "the limit of 3 retries is reached"},
		{"constant d=1s limit=1", 1, "the limit of 1 retry is reached"},
		{"constant d=1s limit=0", 0, "the limit of 0 retries is reached"},
		{"constant d=1s limit=99", 10, ""},
		{"constant d=1s within=5s", 5, "later than 5s after the first failure"},
		{"exponential base=1s factor=2 stopat=10s", 4, "the backoff would be 16s, and it stops at 10s"},
	}
	for _, test := range tests {
		s := of(t, test.text, 10)
		if len(s.Rows) != test.rows || !strings.Contains(s.End, test.end) || (test.end == "") != (s.End == "") {
			t.Errorf("%s: %d rows, %q; want %d, %q", test.text, len(s.Rows), s.End, test.rows, test.end)
		}
	}
}

func TestSumsDoNotOverflow(t *testing.T) {
	rows := of(t, "exponential base=1h factor=10", 50).Rows
	for i, r := range rows[1:] {
		if r.Cumulative < rows[i].Cumulative {
			t.Fatalf("row %d: %v after %v", r.N, r.Cumulative, rows[i].Cumulative)
		}
	}
	if rows[49].Cumulative != math.MaxInt64 {
		t.Error(rows[49])
	}
}

// The axes of the picture have at most 12 ticks of retries, 6 of waits and 9 of times, without the origin.
func TestShowTicks(t *testing.T) {
	for retries, test := range map[int]struct{ strategies, ticks []string }{
		12: {
			[]string{"constant d=0s", "constant d=6s limit=1", "constant d=3s limit=3"},
			[]string{"1 2 3 4 5 6 7 8 9 10 11 12", "0 1s 2s 3s 4s 5s 6s", "0 1s 2s 3s 4s 5s 6s 7s 8s 9s"},
		},
		13: {
			[]string{"constant d=0s", "constant d=7s limit=1", "constant d=5s limit=2"},
			[]string{"2 4 6 8 10 12", "0 2s 4s 6s", "0 2s 4s 6s 8s 10s"},
		},
	} {
		f := Show{Strategies: strategies(t, test.strategies...), Retries: retries}.Run().Figure()
		for i, a := range []picture.Axis{f.Panels[0].X, f.Panels[0].Y, f.Panels[1].X} {
			var labels []string
			for _, tick := range a.Ticks {
				labels = append(labels, tick.Label)
			}
			if got := strings.Join(labels, " "); got != test.ticks[i] {
				t.Errorf("%d retries: axis %d has the ticks %s, want %s", retries, i, got, test.ticks[i])
			}
		}
	}
}

// A wide text has a chart next to the table, over an axis from 0.
func TestShowHasAChartIfThereIsRoom(t *testing.T) {
	s := Show{Strategies: strategies(t, "linear d=1s"), Retries: 2}.Run()
	axis := regexp.MustCompile(`(?m)^ +0 .* 2s$`)
	if wide, narrow := strings.Join(s.Text(100), "\n"), strings.Join(s.Text(50), "\n"); !axis.MatchString(wide) || axis.MatchString(narrow) {
		t.Errorf("got\n%s\nand\n%s", wide, narrow)
	}
}

func TestInWords(t *testing.T) {
	for text, want := range map[string]string{
		"constant d=5s":   "5s before each retry",
		"constant d=0s":   "no wait",
		"linear d=1500ms": "1.5s·n",
		"quadratic d=1s":  "1s·n²",
		"polynomial d=1s degree=1.5 jitter=deviation:0.3":     "1s·n^1.5, times a random factor of 1 ± 0.3",
		"exponential base=100ms factor=2 cap=30s jitter=full": "100ms, then twice as long each time, times a random factor from 0 to 1, at most 30s",
		"exponential base=1m factor=1.5 plus=3m jitter=equal": "1m, then 1.5 times as long each time, plus 3m, times a random factor from 0.5 to 1",
		"fibonacci d=1s jitter=uniform:0.5:1.5":               "1s times 1, 1, 2, 3, 5, 8 …, times a random factor from 0.5 to 1.5",
		"table delays=10ms,90s jitter=default":                "10ms, 1m30s, then 1m30s forever, times a random factor from 0.85 to 1.15",
		"sidekiq limit=1":                                     "(n-1)⁴ + 15 + up to 30·n seconds at random; at most 1 retry",
		"buckets unit=1s exponent=3 within=1m":                "at random between 1s·(n-1)^3 and 1s·(n+1)^3; no retry later than 1m after the first failure",
		"decorrelated base=5ms stopat=90s":                    "at random between 5ms and three times the previous delay; gives up when a wait before jitter would be 1m30s or more",
		"linear d=1s tiled attempttimeout=2s limit=5":         "1s·n, tiled: each operation keeps its place in every wait; at most 5 retries; the context of each call ends after 2s",
		"linear d=1s limit=0":                                 "no retry",
		"linear d=1s budget=10,1,0.1,2 processes=3 layers=2":  "1s·n; a budget of 10: a retry costs 1, a success refunds 0.1, 2 flow in each second; 3 processes, each with a budget of its own; 2 layers",
		"linear d=1s resetafter=30s processes=3":              "1s·n; an attempt of 30s or longer restarts the count; 3 processes",
	} {
		if got := InWords(strategies(t, text)[0]); got != want {
			t.Errorf("%s:\n%s\nwant\n%s", text, got, want)
		}
	}
}

// Every word is in the sentence.
func TestInWordsHasAllWords(t *testing.T) {
	for _, w := range retry.Words() {
		want, _, _ := strings.Cut(w.Sentence, "{")
		if got := InWords(strategies(t, "constant d=1s "+w.String())[0]); !strings.Contains(got, want) && w.Example != "none" {
			t.Errorf("%s: %s, want %q in it", w, got, want)
		}
	}
}

func TestNumbersInSentences(t *testing.T) {
	for n, want := range map[int]string{0: "0 jobs", 1: "1 job", 999: "999 jobs", 1000: "1,000 jobs", 1234567: "1,234,567 jobs"} {
		if got := count(n, "job", "jobs"); got != want {
			t.Errorf("%d is %q, want %q", n, got, want)
		}
	}
	if got := list([]string{"a", "b", "c"}) + "|" + list([]string{"a", "b"}) + "|" + list([]string{"a"}) + "|" + list(nil); got != "a, b and c|a and b|a|" {
		t.Error(got)
	}
}

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

func herdOf(t *testing.T, texts ...string) Herd {
	return Herd{Strategies: strategies(t, texts...), Jobs: 100, Retries: 5}
}

// After 40 doublings without a cap the waits are longer than a Duration can be. The other strategies are shown.
func TestHerdOfWaitsPastTheLongestDuration(t *testing.T) {
	h := herdOf(t, "far: exponential base=1s factor=2", "at times: exponential base=70h factor=2 jitter=default limit=15", "near: linear d=1s")
	h.Retries = 40
	r := must(h.Run(t.Context()))
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
		r := must(o.Run(t.Context()))
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

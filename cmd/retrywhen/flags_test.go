package main

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

// flagCase is a flag with an unusual value, and where the result shows it.
type flagCase struct {
	with string // other arguments, separated by |
	json string // is in the JSON with the flag, and not without; "" if only other numbers are
}

// flagCases has each flag of each simulation but for those of the output, which are in other tests.
var flagCases = map[string]struct {
	base  string // arguments, separated by |
	flags map[string]flagCase
}{
	"show": {"linear d=1s", map[string]flagCase{"retries=3": {}}},
	"herd": {"--jobs=20|--retries=3|--runs=2|a: exponential base=1s factor=2 jitter=full|b: linear d=9s tiled", map[string]flagCase{
		"jobs=7": {json: `"jobs": 7`}, "retries=2": {json: `"retries": 2`}, "runs=3": {json: `"runs": 3`}, "place=by-key": {json: "place=by-key"},
		"seed=5": {}, "horizon=4s": {json: "the simulation end"},
	}},
	"outage": {"--clients=40|--down=9s|--capacity=5|a: exponential base=1s factor=2 jitter=full|b: linear d=2s tiled", map[string]flagCase{
		"clients=31": {json: `"clients": 31`}, "processes=7": {}, "down=13s": {json: `"down": 13000000000`}, "capacity=3": {}, "timeout=700ms": {}, "arrive=3s": {},
		"limit=2": {}, "slots": {}, "return=7s": {with: "--limit=2"}, "budget=11,1,0.1": {},
		"place=by-ordinal": {json: "place=by-ordinal"}, "seed=5": {}, "horizon=11s": {json: "the simulation end"},
	}},
	"overload": {"--load=40|--stall=3s|--horizon=50s|--runs=2|a: exponential base=1s factor=2 jitter=full limit=2|b: constant d=1s limit=0", map[string]flagCase{
		"load=33": {json: `"load": 33`}, "service=21ms": {}, "shape=log-normal:0.7": {}, "at=13s": {json: `"at": 13000000000`}, "stall=4s": {json: `"for": 4000000000`},
		"speed=0.3": {json: `"speed": 0.3`}, "ramp=6s": {json: `"ramp": 6000000000`}, "timeout=900ms": {json: `"healthyWithin": 900000000`}, "healthy=2s": {json: `"healthyWithin": 2000000000`},
		"failures=7%": {}, "queue=9": {}, "slots": {with: "--queue=9"}, "drop": {}, "horizon=47s": {json: `"horizon": 47000000000`},
		"runs=3": {json: `"runs": 3`}, "seed=5": {},
	}},
	"boundary": {"--runs=2|--stall=2s|--service=100ms|a: constant d=1s limit=1|b: constant d=1s limit=0", map[string]flagCase{
		"points=2": {}, "loads=3.7,6.3": {json: `"load": 6.3`}, "service=90ms": {}, "shape=exponential": {}, "at=13s": {}, "stall=4s": {}, "speed=0.3": {}, "ramp=6s": {}, "timeout=700ms": {},
		"healthy=300ms": {}, "failures=7%": {}, "queue=9": {}, "slots": {with: "--queue=9"}, "drop": {}, "runs=3": {json: `"runs": 3`}, "seed=5": {},
	}},
	"occ": {"--clients=10|--points=2|--runs=3|a: exponential base=10ms factor=2 jitter=full|b: linear d=30ms tiled", map[string]flagCase{
		"clients=7": {json: `"clients": 7`}, "points=3": {}, "runs=4": {json: `"runs": 4`}, "network=30ms": {}, "network-sd=7ms": {},
		"place=by-key": {}, "seed=5": {}, "horizon=90ms": {},
	}},
	"choose": {"--clients=30|--capacity=4|--outages=2s,9s|--runs=2", map[string]flagCase{
		"clients=31": {}, "capacity=3": {}, "outages=3s": {json: `"down": 3000000000`}, "served=9s": {json: `"meets": false`}, "wait=1ms": {json: `"recommended": -1`}, "slots": {},
		"processes=30": {json: "processes=75"}, "timeout=700ms": {json: "attempttimeout=700ms"}, "runs=3": {json: `"count": 3`}, "place=by-ordinal": {json: "Ordinal(ordinal)"}, "seed=5": {},
	}},
}

// Each flag has its effect, and text, JSON and page have the same figures. The same seed has the same figures.
func TestFlags(t *testing.T) {
	for name, command := range flagCases {
		t.Run(name, func(t *testing.T) {
			line := append([]string{"sim", name}, strings.Split(command.base, "|")...)
			if name == "show" {
				line = line[1:]
			}
			missing, bases := map[string]bool{}, map[string]forms{}
			find(t, name).Flags().VisitAll(func(f *pflag.Flag) { missing[f.Name] = !slices.Contains([]string{"help", "json", "output"}, f.Name) })
			for flag, test := range command.flags {
				base := line
				if test.with != "" {
					base = append(slices.Clone(line), test.with)
				}
				key, _, _ := strings.Cut(flag, "=")
				missing[key] = false
				if name == "boundary" && key != "points" && key != "loads" {
					base = append(slices.Clone(base), "--points=3")
				}
				of := strings.Join(base, "|")
				if _, ok := bases[of]; !ok {
					bases[of] = formsOf(t, base...)
				}
				before, after := bases[of], formsOf(t, append(slices.Clone(base), "--"+flag)...)
				if key == "seed" && formsOf(t, base...).json != before.json {
					t.Errorf("%s: two runs with the same seed differ", name)
				}
				if changed := before.json != after.json; !changed {
					t.Errorf("--%s changes the JSON: %v", flag, changed)
				}
				if changed := before.page != after.page; !changed && name != "boundary" { // its page has only the runs that recover
					t.Errorf("--%s changes the page: %v", flag, changed)
				}
				if test.json != "" && (strings.Contains(before.json, test.json) && name != "choose" || !strings.Contains(after.json, test.json)) {
					t.Errorf("--%s: want %s in the JSON with the flag alone", flag, test.json)
				}
				after.compare(t, "--"+flag)
			}
			for flag, is := range missing {
				if is {
					t.Errorf("no test of --%s", flag)
				}
			}
		})
	}
}

// find returns the command of a simulation.
func find(t *testing.T, name string) *cobra.Command {
	t.Helper()
	root := newCommand(nil, nil)
	for _, args := range [][]string{{"sim", name}, {name}} {
		if c, _, err := root.Find(args); err == nil && c.Name() == name {
			return c
		}
	}
	t.Fatalf("no command %s", name)
	return nil
}

// forms is a result in its forms.
type forms struct {
	text, json, page string
	numbers          any
}

// formsOf returns the forms of one run. Other tests see that the command writes them.
func formsOf(t *testing.T, args ...string) (f forms) {
	t.Helper()
	t.Cleanup(func() { computed = func(report.Result) {} })
	computed = func(r report.Result) {
		page, err := json.Marshal(r.Page())
		if err != nil || json.Unmarshal(page, &f.numbers) != nil {
			t.Fatalf("%q: %v\n%s", args, err, page)
		}
		f.text, f.page = strings.Join(r.Text(140), "\n"), string(page)
	}
	var err error
	if f.json, _, err = inProcess(t, append(slices.Clone(args), "--json")...); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return f
}

// derived are the page's figures that the JSON has in two numbers.
var derived = []string{"succeeded", "wasted"}

// compare compares the page's figures with the text and the JSON.
func (f forms) compare(t *testing.T, flag string) {
	t.Helper()
	words := map[string]bool{}
	for line := range strings.Lines(f.text) {
		words[strings.TrimSpace(line)] = true
		for cell := range strings.SplitSeq(line, "  ") {
			words[strings.TrimSpace(cell)] = true
		}
	}
	var numbers []float64
	var all any
	if err := json.Unmarshal([]byte(f.json), &all); err != nil {
		t.Fatal(err)
	}
	collect(all, &numbers)
	tables, _ := f.numbers.(map[string]any)["tables"].([]any)
	for i, table := range tables {
		rows, _ := table.(map[string]any)["rows"].([]any)
		for _, row := range rows {
			for _, cell := range row.([]any) {
				if i == 0 && !words[cell.(string)] {
					t.Errorf("%s: the page has %s, which is not in the text\n%s", flag, cell, f.text)
				}
			}
		}
	}
	strategies, _ := f.numbers.(map[string]any)["strategies"].([]any)
	if len(strategies) == 0 && len(tables) == 0 {
		t.Errorf("%s: the page is empty", flag)
	}
	for _, s := range strategies {
		figures, _ := s.(map[string]any)["figures"].([]any)
		for _, x := range figures {
			x := x.(map[string]any)
			name, text, value := x["name"].(string), x["text"].(string), x["value"].(float64)
			in := slices.ContainsFunc(slices.Collect(maps.Keys(words)), func(w string) bool {
				return w == text || strings.HasPrefix(w, text+" ±")
			})
			if !in {
				t.Errorf("%s: %s is %s on the page, which is not in the text\n%s", flag, name, text, f.text)
			}
			near := func(n float64) bool { return math.Abs(n-value) <= 1e-9*math.Abs(value) || math.Abs(n-1e9*value) <= 1 }
			if !slices.Contains(derived, name) && !slices.ContainsFunc(numbers, near) && value != 0 {
				t.Errorf("%s: %s is %v on the page, which is not in the JSON", flag, name, value)
			}
		}
	}
}

func collect(x any, numbers *[]float64) {
	switch x := x.(type) {
	case float64:
		*numbers = append(*numbers, x)
	case []any:
		for _, y := range x {
			collect(y, numbers)
		}
	case map[string]any:
		for _, y := range x {
			collect(y, numbers)
		}
	}
}

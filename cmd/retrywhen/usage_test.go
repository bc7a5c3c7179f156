package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

func TestWrongUsage(t *testing.T) {
	for line, want := range map[string]string{
		"bogus":                                         `no command "bogus", want completion, lab, measure, prove, run, show, sim`,
		"shwo x":                                        `no command "shwo"; did you mean show? want completion, lab, measure, prove, run, show, sim`,
		"help bogus":                                    `no command "bogus", want completion, lab, measure, prove, run, show, sim`,
		"help sim hord":                                 `sim: no command "hord"; did you mean herd? want boundary, choose, herd, occ, outage, overload`,
		"completion zhs":                                `completion: no command "zhs"; did you mean zsh? want bash, fish, powershell, zsh`,
		"--bogus":                                       "unknown flag: --bogus, see retrywhen --help",
		"-x":                                            "unknown shorthand flag: 'x' in -x, see retrywhen --help",
		"show --retires 3 sidekiq":                      "show: unknown flag: --retires; did you mean --retries? see retrywhen show --help",
		"show sidekiq --retries":                        "show: flag needs an argument: --retries, see retrywhen show --help",
		"show sidekiq -n x":                             `show: --retries is "x", want a whole number`,
		"run --within 5 -- true":                        `run: --within is "5", want a duration, as in 500ms or 1m30s`,
		"run --on-exit x -- true":                       `run: --on-exit is "x", want exit codes from 1 to 255 separated by commas, as in 1,64-78, or "all but" these`,
		"sim herd --seed -1":                            `herd: --seed is "-1", want a whole number, at least 0`,
		"sim outage --slots=x":                          `outage: --slots is "x", want true or false`,
		"sim herd --place=":                             `herd: --place is "", want one-process or by-ordinal`,
		"sim choose --place=x":                          `choose: --place is "x", want one-process or by-ordinal`,
		"sim outage --budget=":                          `outage: --budget is "": budget has no value, want as in "budget=10,1,0.1"`,
		"sim choose --wait 999ms":                       "choose: --wait is 999ms, want at least 1s, because a job may wait for a second before its first retry, or 0 for no target",
		"run --backoff 2 -- true":                       "run: --backoff: 2 has no unit: 2s?",
		"sim herd sidekiq -o x.html":                    `herd: --output is "x.html", want a name that ends in .svg`,
		"sim overload -o x.html":                        `overload: --output is "x.html", want a name that ends in .svg`,
		"sim overload --failures 101%":                  `overload: --failures is "101%", want a share from 0% to 100%, as in 1% or 0.01`,
		"sim overload --load 0":                         "overload: --load is 0, want more than 0",
		"sim overload --runs 0":                         "overload: --runs is 0, want 1 to 100000",
		"sim boundary --loads 0":                        "boundary: --loads is 0, want more than 0",
		"sim overload --stall 2562047h":                 "overload: --load times the simulation end is 7.378695608e+11, want at most 1073741824 operations",
		"show sidekiq -n 10001":                         "show: --retries is 10001, want 1 to 10000",
		"sim herd --runs 1000001":                       "herd: --runs is 1000001, want 0 to 1000000",
		"sim occ -c 10000001":                           "occ: --clients is 10000001, want 1 to 10000000",
		"sim occ --points 1001":                         "occ: --points is 1001, want 1 to 1000",
		"sim boundary --points 0":                       "boundary: --points is 0, want 1 to 1000",
		"sim boundary --points 1001":                    "boundary: --points is 1001, want 1 to 1000",
		"sim overload --runs 100001":                    "overload: --runs is 100001, want 1 to 100000",
		"lab -p 65536":                                  "lab: --port is 65536, want 0 to 65535",
		"lab -p -1":                                     "lab: --port is -1, want 0 to 65535",
		"lab sidekiq sidekiq":                           `lab: there are two policies "sidekiq", want a name for each, as in "mine: sidekiq"`,
		"show sidekiq --output=":                        `show: --output is "", want a name that ends in .svg or .html`,
		"sim choose --outages x":                        `choose: --outages is "x", want durations separated by commas, as in 5s,1m`,
		"sim overload --load x":                         `overload: --load is "x", want a number`,
		"sim outage --budget x":                         `outage: --budget is "x": "x" is not a budget, want as in "budget=10,1,0.1": capacity, cost, refund, and optionally the tokens that flow in each second`,
		"lab -p 9223372036854775808":                    `lab: --port is "9223372036854775808", want a whole number`,
		"measure":                                       "measure: no command given, want one after --, as in: retrywhen measure -- curl -sS --fail {url}",
		"measure --server x -- true":                    `measure: --server is "x", want host:port, as in localhost:8080`,
		"measure --request GET -- true":                 `measure: --request is "GET", want a method and a path, as in 'POST /orders'`,
		"measure --within 0s -- true":                   "measure: --within is 0s, want more than 0",
		"measure --stop -1s -- true":                    "measure: --stop is -1s, want more than 0",
		"measure --most 0 -- true":                      "measure: --most is 0, want at least 1",
		"measure --parallel 0 -- true":                  "measure: --parallel is 0, want at least 1",
		"measure -- curl {ur}":                          "measure: there is no {ur}; did you mean {url}? Placeholders are {url}, {addr}, {host}, {port}",
		"measure --known sillent=x -- true":             `measure: --known is "sillent=x"; did you mean silent? want kind=why with a kind of hot, storm, silent, early, unsafe, body, half, vain, swallowed, stale, jitter, cap, late, open`,
		"prove --server x:1":                            "prove: no command given, want one after --, as in: retrywhen prove --server localhost:6379 -- python3 client.py {addr}",
		"prove -- true":                                 `prove: --server is "", want host:port, as in localhost:6379`,
		"prove --server x -- true":                      `prove: --server is "x", want host:port, as in localhost:6379`,
		"prove --server x:1 --within 0s -- true":        "prove: --within is 0s, want more than 0",
		"prove --server x:1 --places 0 -- true":         "prove: --places is 0, want at least 1",
		"prove --server x:1 --events 3 -- true":         "prove: --events and --every are for --event, which is not given",
		"prove --server x:1 --values ( -- true":         "prove: --values: error parsing regexp: missing closing ): `(`",
		"prove --server x:1 --ways cut,silense -- true": `prove: --ways has "silense"; did you mean silence? want some of cut,amid,end,silence,refuse,twice`,
		"prove --server x:1 --known lots=x -- true":     `prove: --known is "lots=x"; did you mean lost? want kind=why with a kind of lost, repeated, foreign, order, hot, silent, away, gave-up, ended, late, open, past-the-proxy`,
		"prove --server x:1 --known lost -- true":       `prove: --known is "lost", want kind=why with a kind of lost, repeated, foreign, order, hot, silent, away, gave-up, ended, late, open, past-the-proxy`,
	} {
		out, _, err := inProcess(t, strings.Fields(line)...)
		if fmt.Sprint(err) != want || out != "" {
			t.Errorf("%s: %v\n%s\nwant %s", line, err, out, want)
		}
	}
}

func TestHelpIsForAllCommands(t *testing.T) {
	for _, line := range []string{"", "help", "help run", "help sim", "help sim herd", "sim", "completion", "help completion bash"} {
		out, _, err := inProcess(t, strings.Fields(line)...)
		if err != nil || !strings.Contains(out, "Usage:") {
			t.Errorf("%q: %v\n%s", line, err, out)
		}
	}
}

func TestVersion(t *testing.T) {
	out, _, err := inProcess(t, "--version")
	if err != nil || !strings.HasPrefix(out, "retrywhen version ") || !strings.Contains(out, runtime.Version()) {
		t.Errorf("%v\n%s", err, out)
	}
}

// A result has its command line, so a flag's value is printed as it is read.
func TestFlagsPrintWhatTheyRead(t *testing.T) {
	for text, value := range map[string]pflag.Value{
		"none": new(limitFlag), "5": new(limitFlag), "success": new(condition), "failure": new(condition), "42": new(condition),
		"last": &choice{of: []string{"all", "last"}}, "7.5%": new(percentage),
		"1,75": new(exitCodes), "all but 2,64-78": new(exitCodes),
	} {
		if err := value.Set(text); err != nil || value.String() != text {
			t.Errorf("%s is read as %s, %v", text, value, err)
		}
	}
}

func TestTheSmallestIsAllowed(t *testing.T) {
	for _, line := range []string{"show sidekiq -n 1", "sim herd sidekiq -j 1 -n 1 --runs 1", "sim occ sidekiq -c 1 --points 1 --runs 1",
		"sim outage sidekiq -c 1 --capacity 1", "sim overload sidekiq --load 9 --runs 1", "sim boundary sidekiq --points 1 --runs 1",
		"sim choose -c 1 --capacity 1 --processes 1 --runs 1 --outages 0s"} {
		if out, _, err := inProcess(t, strings.Fields(line)...); err != nil || out == "" {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
}

type fullDisk struct{}

func (fullDisk) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestAWriteThatFailsIsReported(t *testing.T) {
	for _, line := range []string{"", "--help", "help", "help sim", "sim", "sim herd --help", "--version", "completion bash",
		"show sidekiq", "show sidekiq --json"} {
		c := newCommand(fullDisk{}, io.Discard)
		c.SetArgs(strings.Fields(line))
		if err := execute(t.Context(), c); !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%q: %v", line, err)
		}
	}
}

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
		"jobs=7": {json: `"jobs": 7`}, "retries=2": {json: `"retries": 2`}, "runs=3": {json: `"runs": 3`}, "place=by-ordinal": {json: "place=by-ordinal"},
		"seed=5": {}, "horizon=4s": {json: "the simulation end"},
	}},
	"outage": {"--clients=40|--down=9s|--capacity=5|a: exponential base=1s factor=2 jitter=full|b: linear d=2s tiled", map[string]flagCase{
		"clients=31": {json: `"clients": 31`}, "processes=7": {}, "down=13s": {json: `"down": 13000000000`}, "capacity=3": {}, "timeout=700ms": {}, "arrive=3s": {},
		"limit=2": {}, "slots": {}, "return=7s": {with: "--limit=2"}, "budget=11,1,0.1": {},
		"place=by-ordinal": {json: "place=by-ordinal"}, "seed=5": {}, "horizon=11s": {json: "the simulation end"},
	}},
	"overload": {"--load=40|--stall=3s|--horizon=50s|--runs=2|a: exponential base=1s factor=2 jitter=full limit=2|b: constant d=1s limit=0", map[string]flagCase{
		"load=33": {json: `"load": 33`}, "service=21ms": {}, "at=13s": {json: `"at": 13000000000`}, "stall=4s": {json: `"for": 4000000000`},
		"loops=30": {json: `"load": 0`}, "refusal=30ms": {with: "--queue=9"}, "timeout=900ms": {json: `"healthyWithin": 900000000`}, "healthy=2s": {json: `"healthyWithin": 2000000000`},
		"failures=7%": {}, "queue=9": {}, "drop": {}, "horizon=47s": {json: `"horizon": 47000000000`},
		"runs=3": {json: `"runs": 3`}, "seed=5": {},
	}},
	"boundary": {"--runs=2|--stall=2s|--service=100ms|a: constant d=1s limit=1|b: constant d=1s limit=0", map[string]flagCase{
		"points=2": {}, "loads=3.7,6.3": {json: `"load": 6.3`}, "service=90ms": {}, "at=13s": {}, "stall=4s": {}, "refusal=30ms": {with: "--queue=9"}, "timeout=700ms": {},
		"healthy=300ms": {}, "failures=7%": {}, "queue=9": {}, "drop": {}, "runs=3": {json: `"runs": 3`}, "seed=5": {},
	}},
	"occ": {"--clients=10|--points=2|--runs=3|a: exponential base=10ms factor=2 jitter=full|b: linear d=30ms tiled", map[string]flagCase{
		"clients=7": {json: `"clients": 7`}, "points=3": {}, "runs=4": {json: `"runs": 4`}, "network=30ms": {}, "network-sd=7ms": {},
		"place=by-ordinal": {}, "seed=5": {}, "horizon=90ms": {},
	}},
	"choose": {"--clients=30|--capacity=4|--outages=2s,9s|--runs=2", map[string]flagCase{
		"clients=31": {}, "capacity=3": {}, "outages=3s": {json: `"down": 3000000000`}, "served=9s": {json: `"meets": false`}, "wait=9s": {},
		"processes=30": {json: "processes=750"}, "timeout=700ms": {json: "attempttimeout=700ms"}, "runs=3": {json: `"count": 3`}, "place=by-ordinal": {json: "Ordinal(ordinal)"}, "seed=5": {},
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
				if changed := before.page != after.page; !changed && after.numbers != nil {
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
		f.text = strings.Join(r.Text(140), "\n")
		paged, ok := r.(report.Paged)
		if !ok {
			return
		}
		page, err := json.Marshal(paged.Page())
		if err != nil || json.Unmarshal(page, &f.numbers) != nil {
			t.Fatalf("%q: %v\n%s", args, err, page)
		}
		f.page = string(page)
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
	if f.numbers == nil { // no page
		return
	}
	words := map[string]bool{}
	for line := range strings.Lines(f.text) {
		words[strings.TrimSpace(line)] = true
		for cell := range strings.SplitSeq(line, "  ") {
			words[strings.TrimSpace(cell)] = true
		}
	}
	var numbers []float64
	var all any
	must(t, json.Unmarshal([]byte(f.json), &all))
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

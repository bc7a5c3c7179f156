package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

// chosen is what sim choose writes as JSON.
type chosen struct {
	sim.Choices
	Policies []struct {
		Use, Policy, Go string
		Outages         []struct {
			Down     time.Duration
			Served   int
			Of       int
			Attempts float64
		}
	}
}

func choose(t *testing.T, args ...string) chosen {
	t.Helper()
	out, errOut, err := inProcess(t, append([]string{"sim", "choose", "--json"}, args...)...)
	var c chosen
	if err != nil || errOut != "" || json.Unmarshal([]byte(out), &c) != nil {
		t.Fatalf("%q: %v %s\n%s", args, err, errOut, out)
	}
	return c
}

// Every printed policy, simulated by sim outage, has the printed figures, with any number of processes and any seed. A
// job's policy serves all. At night there are 40 settings, otherwise three.
func TestChosenPoliciesAreSimulatedAsTheyArePrinted(t *testing.T) {
	settings := 3
	if os.Getenv("RETRYWHEN_NIGHTLY") != "" {
		settings = 40
	}
	rng := rand.New(rand.NewPCG(45, 45))
	for range settings {
		clients, runs, seed := 1+rng.IntN(400), 1+2*rng.IntN(2), rng.IntN(1000)
		shared := []string{fmt.Sprintf("--clients=%d", clients), fmt.Sprintf("--capacity=%d", 1+rng.IntN(60)), fmt.Sprintf("--processes=%d", 1+rng.IntN(min(clients, 50)))}
		args := append(slices.Clone(shared), fmt.Sprintf("--outages=%dms,%ds", 100+rng.IntN(900), 1+rng.IntN(90)), fmt.Sprintf("--runs=%d", runs), fmt.Sprintf("--seed=%d", seed))
		c := choose(t, args...)
		if len(c.Policies) != 2 {
			t.Fatalf("%q: %d policies", args, len(c.Policies))
		}
		for _, p := range c.Policies {
			for _, o := range p.Outages {
				var served []int
				var attempts []float64
				for run := range runs {
					got := outage(t, append(slices.Clone(shared), fmt.Sprintf("--down=%v", o.Down), fmt.Sprintf("--seed=%d", seed+run), p.Policy)...)
					served, attempts = append(served, got.Served), append(attempts, got.PerClient.Mean)
				}
				if s, a := middle(served), middle(attempts); s != o.Served || math.Abs(a-o.Attempts) > 1e-9*a || o.Of != clients || p.Use == "job" && s != clients {
					t.Errorf("%q, %s, down for %v: %d of %d served, %v attempts; sim outage says %d and %v", args, p.Policy, o.Down, o.Served, o.Of, o.Attempts, s, a)
				}
			}
			if hour := outage(t, append(slices.Clone(shared), "--down=1h", p.Policy)...); p.Use == "job" && hour.PerClient.Mean > 400 {
				t.Errorf("%q, %s: %v attempts in an hour", args, p.Policy, hour.PerClient.Mean)
			}
		}
	}
}

func middle[N cmp.Ordered](all []N) N {
	slices.Sort(all)
	return all[len(all)/2]
}

func outage(t *testing.T, args ...string) *sim.OutageResult {
	t.Helper()
	out, _, err := inProcess(t, append([]string{"sim", "outage", "--json"}, args...)...)
	var r struct {
		Strategies []struct{ Result *sim.OutageResult }
	}
	if err != nil || json.Unmarshal([]byte(out), &r) != nil || r.Strategies[0].Result == nil {
		t.Fatalf("%q: %v\n%s", args, err, out)
	}
	return r.Strategies[0].Result
}

// The choice does not depend on the seed, the budget neither.
func TestChooseDoesNotDependOnTheSeed(t *testing.T) {
	var first chosen
	for seed := range 3 {
		c := choose(t, "--clients=300", "--runs=1", "--outages=2s,9s", "--processes=20", fmt.Sprint("--seed=", seed))
		if seed == 0 {
			first = c
		}
		if c.Recommended != first.Recommended || c.Policies[0].Policy != first.Policies[0].Policy || c.Policies[1].Policy != first.Policies[1].Policy {
			t.Errorf("seed %d: %+v, want %+v", seed, c.Policies, first.Policies)
		}
	}
}

// Processes change what a tiled fleet does in an outage: each process spreads only its own clients.
func TestChooseProcessesReachTheOutages(t *testing.T) {
	args := []string{"--runs=1", "--outages=1m", "constant d=55s tiled"}
	one, fifty := choose(t, args...), choose(t, append([]string{"--processes=50"}, args...)...)
	if a, b := one.Choices.Choices[0], fifty.Choices.Choices[0]; a.Refusals != 0 || b.Refusals <= 0.01 || b.End <= a.End {
		t.Errorf("one process: %v refusals, %v; fifty: %v, %v", a.Refusals, a.End, b.Refusals, b.End)
	}
}

// What choose prints is taken by every command, as it is. A word without effect is a note on stderr.
func TestPrintedPoliciesAreTaken(t *testing.T) {
	c := choose(t, "--clients=50", "--runs=1", "--outages=2s", "--place=by-ordinal")
	for _, p := range c.Policies {
		for _, args := range [][]string{
			{"sim", "outage", "--clients=20"}, {"sim", "herd", "--jobs=9", "--runs=1"}, {"sim", "overload", "--runs=1", "--horizon=45s"}, {"sim", "occ", "--clients=5", "--points=1", "--runs=1"}, {"show"},
			{"sim", "choose", "--clients=20", "--runs=1", "--outages=2s"},
		} {
			out, errOut, err := inProcess(t, append(args, p.Policy)...)
			if err != nil || out == "" || p.Use == "request" && len(args) > 1 && args[1] == "outage" &&
				!strings.Contains(errOut, `attempttimeout=1s has no effect here: every attempt fails at once, see --timeout`) {
				t.Errorf("%q %s: %v, %q", args, p.Policy, err, errOut)
			}
		}
		patient := strings.Replace(p.Policy, "attempttimeout=1s", "attempttimeout=1m", 1) // the program may be slow here
		if _, errOut, err := inProcess(t, "run", "--backoff", patient, "--", os.Args[0], "-test.run=^$"); err != nil || strings.Contains(errOut, "place=by-ordinal has no effect here") != (p.Use == "job") {
			t.Errorf("run --backoff %q: %v, %q", p.Policy, err, errOut)
		}
	}
}

// A verdict is of ten runs and says so. One that is not healthy only because of random failures is none.
func TestVerdictsAreOfSeveralRuns(t *testing.T) {
	out, _, err := inProcess(t, "sim", "overload", "--load", "10", "--failures", "2%")
	if err != nil || strings.Count(out, "10 of 10") < 6 || strings.Contains(out, "0 of 10 ") && strings.Contains(out, " 0 of 10") {
		t.Errorf("%v\n%s", err, out)
	}
	text, _, err := inProcess(t, "sim", "choose", "--clients=100", "--runs=1", "--outages=2s", "--served=100s")
	if err != nil || strings.Index(text, "Job or connection") > strings.Index(text, "first wait") || !strings.Contains(text, "give up") {
		t.Errorf("%v\n%s", err, text)
	}
	for line := range strings.Lines(text[strings.Index(text, "backoff  "):]) {
		if n := len([]rune(line)); n > 101 {
			t.Errorf("a line of %d characters: %s", n, line)
		}
	}
	if out, _, err = inProcess(t, "sim", "choose", "--help"); err != nil || !strings.Contains(out, "(default 500ms,2s,5s,20s,1m)") {
		t.Errorf("%v\n%s", err, out)
	}
}

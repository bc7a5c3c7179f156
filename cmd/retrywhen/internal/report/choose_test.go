package report

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/sim"
)

func TestChoose(t *testing.T) {
	c := Choose{Timeout: time.Second, Choose: sim.Choose{Processes: 1, Clients: 200, Capacity: 10, Outages: []time.Duration{time.Second}, Runs: 1}}
	r, err := c.Run(t.Context())
	if err != nil || len(r.Strategies) != 7 || r.Strategies[r.Result.Recommended].String() != "one wave, tiled: constant d=22s tiled" {
		t.Errorf("%+v, %v", r, err)
	}
	c.Strategies = strategies(t, "linear d=1s")
	if r, err = c.Run(t.Context()); err != nil || len(r.Strategies) != 1 || r.Strategies[0].Title() != "linear d=1s" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err = c.Run(ended(t)); err == nil || r == nil || !slices.Equal(r.Text(80), []string{"no policies: the run stopped before one was simulated"}) {
		t.Errorf("%+v, %v: want the end of the context", r, err)
	}
	c.Runs = 0
	if r, err = c.Run(t.Context()); err == nil || r != nil {
		t.Errorf("%+v, %v: want what is wrong with the runs", r, err)
	}
}

// The table has the recommended strategy and what no other beats, and says what each is for.
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
		if !strings.Contains(strings.Join(strings.Fields(text), " "), x.Name+": "+r.purpose(i)+".") {
			t.Errorf("no %q in\n%s", r.purpose(i), text)
		}
	}
	if got := r.purpose(4); !strings.HasPrefix(got, "for those who want fewer refusals (0 instead of ") || !strings.Contains(got, "and accept a longer first wait (") {
		t.Errorf("one wave, tiled is %s", got)
	}
	c.Strategies = strategies(t, "mine: constant d=1s", "mine too: constant d=2s", "a: linear d=1s tiled", "b: linear d=2s tiled", "c: linear d=3s tiled", "d: linear d=4s tiled")
	if r, err = c.Run(t.Context()); err != nil || len(r.Shown) != 6 || len(r.Page().(*choosePage).Strategies) != 6 || r.Page().(*choosePage).Strategies[0].Title != "mine" {
		t.Errorf("%v; not all given policies are shown: %+v", err, r)
	}
}

// The request's policy has what the job's backoff has, and a limit, a timeout and a budget with which the server
// recovers in all runs. With more processes the budget is smaller, also if there are so many that none saves the
// server.
func TestRecommendedPolicies(t *testing.T) {
	c := DefaultChoose()
	c.Runs, c.Capacity, c.Outages, c.Timeout = 1, leastRate, c.Outages[:2], 2*time.Second
	tokens := math.Inf(1)
	for _, processes := range []int{1, 30, 1000} {
		c.Processes = processes
		r, err := c.Run(t.Context())
		if err != nil || len(r.Policies) != 2 {
			t.Fatal(r.Policies, err)
		}
		request, job := r.Policies[0], r.Policies[1]
		p, err := ParseStrategy(request.Text)
		if err != nil {
			t.Fatal(err)
		}
		limit, limited := p.Policy.Limit()
		timeout, timed := p.Policy.AttemptTimeout()
		if backoff := r.Strategies[r.Result.Recommended].Policy.String(); job.Text != backoff || p.Policy.Backoff().String() != backoff || !limited || limit < 1 || !timed || timeout != c.Timeout {
			t.Errorf("%d processes: %s, %s", processes, request.Text, job.Text)
		}
		var capacity float64
		for _, w := range p.Policy.Words() {
			if w.Name == "budget" {
				if _, err := fmt.Sscanf(w.Value, "%g", &capacity); err != nil {
					t.Error(err)
				}
			}
		}
		if capacity == 0 || capacity > tokens || processes > 1 && capacity == 10 {
			t.Errorf("%d processes have a budget of %v each, and fewer one of %v", processes, capacity, tokens)
		}
		tokens = capacity
		if text := strings.Join(r.Text(maxWidth), "\n"); !strings.Contains(text, request.Go) || !strings.Contains(text, job.Overload.Command) || strings.Index(text, request.Text) > strings.Index(text, "first wait") {
			t.Errorf("no %s in\n%s", job.Overload.Command, text)
		}
	}
}

// A server that is too large to be simulated is scaled down with the processes.
func TestRecommendedPoliciesOfALargeServer(t *testing.T) {
	c := DefaultChoose()
	c.Runs, c.Clients, c.Capacity, c.Outages, c.Processes = 1, 2000, 50_000, c.Outages[:1], 2000
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o := r.Policies[0].Overload; o.Rate != mostRate || !strings.Contains(o.Policy, " processes=4") {
		t.Errorf("%+v", o)
	}
}

// Small fleets are not told to hammer: a client attempts at most 400 times in an hour, first after up to a second.
func TestRecommendedPoliciesOfSmallFleets(t *testing.T) {
	for _, clients := range []int{1, 5, 20} {
		for _, timeout := range []time.Duration{time.Second, time.Minute} {
			c := DefaultChoose()
			c.Runs, c.Clients, c.Timeout = 1, clients, timeout
			r, err := c.Run(t.Context())
			if err != nil || len(r.Policies) != 2 {
				t.Fatal(r, err)
			}
			job := r.Policies[1].strategy.Policy
			o, err := Outage{Strategies: []Strategy{{Policy: job}}, Outage: sim.Outage{Clients: clients, Down: time.Hour, Capacity: 20}}.Run(t.Context())
			if err != nil || o.Strategies[0].Result.PerClient.Most > sim.MostAttempts || job.Backoff().Ceiling(1) < time.Second || job.Backoff().Ceiling(100) < timeout {
				t.Errorf("%d clients: %s, %v attempts, %v", clients, job, o.Strategies[0].Result.PerClient, err)
			}
		}
	}
}

// When Work is over the finished policies are compared, and what is missing is said.
func TestChooseInTheTimeThereIs(t *testing.T) {
	c := DefaultChoose()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	c.Work = time.Nanosecond
	if r, err := c.Run(ctx); err == nil || r == nil {
		t.Errorf("%+v, %v: want an error if no policy is finished", r, err)
	}
	r := &Choices{Result: &sim.Choices{Recommended: -1}, Missing: 3, of: c}
	page := r.Page().(*choosePage)
	if want := "Not finished: 0 of 3 backoffs."; page.Note != want {
		t.Errorf("the note is %q, want %q", page.Note, want)
	}
	if want := "none of the backoffs that were simulated meets the targets."; !strings.HasSuffix(page.Sentence, want) {
		t.Errorf("the sentence is %q, want %q at its end", page.Sentence, want)
	}
	for _, wrong := range []func(*Choose){func(c *Choose) { c.Processes = 1001 }, func(c *Choose) { c.Timeout = 0 }} {
		c := DefaultChoose()
		wrong(&c)
		if _, err := c.Run(ctx); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

// A policy that another one beats is for nobody, whatever it does better than the recommended one. Of equal ones the
// first is the best.
func TestWhatAChoiceIsFor(t *testing.T) {
	of := func(refusals float64, end time.Duration, unbeaten bool) sim.Choice {
		return sim.Choice{Refusals: refusals, End: end, Unbeaten: unbeaten}
	}
	x := &Choices{Result: &sim.Choices{Choices: []sim.Choice{of(2, 10, true), of(1, 30, true), of(1, 40, false), of(1, 30, true)}}}
	for i, want := range []string{"recommended: ", "for those who want fewer refusals (1 instead of 2) and accept all served later ", "dominated: ", "for those who want fewer refusals"} {
		if got := x.purpose(i); !strings.HasPrefix(got, want) {
			t.Errorf("policy %d is %q, want %q", i, got, want)
		}
	}
	x.Result.Choices = append(x.Result.Choices, of(2, 10, true))
	for recommended, want := range map[int]string{0: "in no figure clearly better than the recommended policy", -1: "in each figure another policy is as good or better"} {
		if x.Result.Recommended = recommended; x.purpose(4) != want {
			t.Errorf("an equal policy is %q, want %q", x.purpose(4), want)
		}
	}
	if got := x.best(qualities[0].figure); got != 1 {
		t.Errorf("policy %d has the fewest refusals, want 1", got)
	}
}

// Attempts beyond the most are not counted, clients that are not served within a week are no reason to call a policy
// dominated, and the number of processes in the text is at least 1.
func TestChooseOfPoliciesThatAreForNoJob(t *testing.T) {
	c := Choose{Timeout: time.Second, Choose: sim.Choose{Clients: 2, Capacity: 1, Outages: []time.Duration{time.Second}, Runs: 1}}
	c.Strategies = strategies(t, "quick: constant d=100ms", "slow: constant d=200h")
	r, err := c.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(strings.Join(r.Text(maxWidth), " ")), " ")
	for _, want := range []string{"✗ quick 100ms > 400 ", "slow: some clients are not served within a week of the server's return.", "Clients: 2, in 1 process."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// The processes of a small server's callers are scaled to the simulated one, up to the most that a simulation has.
func TestChooseOfMoreProcessesThanASimulationHas(t *testing.T) {
	c := Choices{of: Choose{Choose: sim.Choose{Processes: 2000, Capacity: 1}}}
	if _, n := c.overload(0); n != mostProcesses {
		t.Errorf("%d processes, want %d", n, mostProcesses)
	}
}

package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/sim"
)

func TestChoose(t *testing.T) {
	c := Choose{Timeout: time.Second, Choose: sim.Choose{Processes: 1, Clients: 200, Capacity: 10, Outages: []time.Duration{time.Second}, Runs: 1}}
	r, err := c.Run(t.Context())
	if err != nil || len(r.Strategies) != 10 || r.Strategies[r.Result.Recommended].String() != "1s, then 11s, tiled: table delays=1s,11s tiled" {
		t.Errorf("%+v, %v", r.Strategies[r.Result.Recommended], err)
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

// Text and JSON have one figure for one thing: the recommended backoff's are those of the job's policy as it is printed.
func TestChooseShows(t *testing.T) {
	c := DefaultChoose()
	c.Runs, c.Seed, c.Outages = 1, 3, c.Outages[:3]
	r := must(c.Run(t.Context()))
	text := strings.Join(r.Text(maxWidth), "\n")
	for _, x := range r.Result.Choices {
		if !strings.Contains(text, x.Name+" ") {
			t.Errorf("no %s in\n%s", x.Name, text)
		}
	}
	best, job := r.Result.Choices[r.Result.Recommended], r.Policies[1]
	for i, o := range job.Outages {
		if x := best.Outages[i]; x.After.Count != 1 || x.Served != o.Served || x.Attempts != o.Attempts {
			t.Errorf("down for %v: %+v in the table, %+v of the policy", o.Down, x, o)
		}
	}
	of, err := Outage{Strategies: []Strategy{{Policy: best.Policy}}, Outage: sim.Outage{Clients: 1000, Capacity: 20, Processes: 1, Down: c.Outages[2], Seed: 3}}.Run(t.Context())
	if want := axis.Time(best.End); err != nil || best.Outages[2].After.Most != of.Strategies[0].After || strings.Count(text, want) < 2 || !strings.Contains(text, "served within "+want+" of the server's return") {
		t.Errorf("%v: %v in the table, sim outage says %v\n%s", err, best.Outages[2].After.Most, of.Strategies[0].After, text)
	}
	if !strings.Contains(strings.Join(strings.Fields(text), " "), "▶: the job's backoff. ✗: misses a target.") {
		t.Errorf("no legend in\n%s", text)
	}
	c.Strategies = strategies(t, "mine: constant d=1s", "mine too: constant d=2s", "a: linear d=1s tiled", "b: linear d=2s tiled", "c: linear d=3s tiled", "d: linear d=4s tiled")
	if r, err = c.Run(t.Context()); err != nil || len(r.Page().(*choosePage).Strategies) != 6 || r.Page().(*choosePage).Strategies[0].Title != "mine" {
		t.Errorf("%v; not all given policies are shown: %+v", err, r)
	}
}

// Small fleets have many runs for the choice: they differ much from run to run.
func TestChooseRuns(t *testing.T) {
	for clients, want := range map[int]int{1: 200, 10: 200, 100: 20, 1000: 3, 3000: 3} {
		c := Choose{Timeout: time.Second, Choose: sim.Choose{Clients: clients, Capacity: 1000, Outages: []time.Duration{time.Second}, Runs: 3}, Strategies: strategies(t, "linear d=1s", "linear d=100ms")}
		if r, err := c.Run(t.Context()); err != nil || r.Result.Choices[1].Outages[0].After.Count != want || r.Result.Choices[0].Outages[0].After.Count != 3 {
			t.Errorf("%d clients: %+v, %v; want %d runs", clients, r, err, want)
		}
	}
}

// A target below a second cannot be met by a job; 0 is none, and changes nothing of the request.
func TestChooseWait(t *testing.T) {
	c := Choose{Timeout: time.Second, Choose: sim.Choose{Clients: 20, Capacity: 10, Outages: []time.Duration{time.Second}, Runs: 1, Wait: 999 * time.Millisecond}}
	_, err := c.Run(t.Context())
	if field, ok := errors.AsType[*sim.FieldError](err); !ok || field.Field != "Wait" || !strings.Contains(err.Error(), "a job may wait for a second") {
		t.Error(err)
	}
	requests := map[string]bool{}
	for _, wait := range []time.Duration{0, time.Second, time.Minute} {
		c.Wait = wait
		r, err := c.Run(t.Context())
		if err != nil || len(r.Policies) != 2 {
			t.Fatal(r, err)
		}
		requests[r.Policies[0].Text] = true
	}
	if len(requests) != 1 || !requests["exponential base=100ms factor=2 cap=2s jitter=full limit=3 attempttimeout=1s budget=10,1,0.1"] {
		t.Errorf("%v", requests)
	}
}

// The request's policy is a person's, with a budget with which the server recovers in all of 20 runs. With more processes
// the budget is smaller, also if there are so many that none saves the server. The server is always one of 100 a second.
func TestRecommendedPolicies(t *testing.T) {
	c := DefaultChoose()
	c.Runs, c.Capacity, c.Outages, c.Timeout = 1, 10, c.Outages[:2], 2*time.Second
	tokens := math.Inf(1)
	for _, processes := range []int{1, 30, 1000} {
		c.Processes = processes
		r, err := c.Run(t.Context())
		if err != nil || len(r.Policies) != 2 {
			t.Fatal(r.Policies, err)
		}
		request, job := r.Policies[0], r.Policies[1]
		p := must(ParseStrategy(request.Text))
		limit, limited := p.Policy.Limit()
		timeout, timed := p.Policy.AttemptTimeout()
		if backoff := r.Strategies[r.Result.Recommended].Policy.String(); job.Text != backoff || p.Policy.Backoff().String() != personal.String() || !limited || limit != 3 || !timed || timeout != c.Timeout {
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
		if text := strings.Join(r.Text(maxWidth), "\n"); job.Overload != nil || request.Overload.Runs != 20 || request.Overload.Rate != 100 || !strings.Contains(request.Overload.Policy, fmt.Sprintf(" processes=%d", 10*processes)) && processes < 1000 ||
			!strings.Contains(text, request.Overload.Command) || strings.Index(text, request.Text) > strings.Index(text, "first wait") || !strings.Contains(text, "bound their queue") {
			t.Errorf("%+v\n%s", request.Overload, text)
		}
	}
}

// A server that is too large to be simulated is scaled down with the processes.
func TestRecommendedPoliciesOfALargeServer(t *testing.T) {
	c := DefaultChoose()
	c.Runs, c.Clients, c.Capacity, c.Outages, c.Processes = 1, 2000, 50_000, c.Outages[:1], 2000
	r := must(c.Run(t.Context()))
	if o := r.Policies[0].Overload; o.Rate != 100 || !strings.Contains(o.Policy, " processes=4") {
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
	if want := "Not finished: 0 of 3 backoffs. None of these meets the targets."; page.Sentence != want {
		t.Errorf("the sentence is %q, want %q", page.Sentence, want)
	}
	for _, wrong := range []func(*Choose){func(c *Choose) { c.Processes = 1001 }, func(c *Choose) { c.Timeout = 0 }} {
		c := DefaultChoose()
		wrong(&c)
		if _, err := c.Run(ctx); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

// Attempts beyond the most are not counted, and the number of processes in the text is at least 1.
func TestChooseOfPoliciesThatAreForNoJob(t *testing.T) {
	c := Choose{Timeout: time.Second, Choose: sim.Choose{Clients: 2, Capacity: 1, Outages: []time.Duration{time.Second}, Runs: 1}}
	c.Strategies = strategies(t, "quick: constant d=100ms", "slow: constant d=200h")
	r := must(c.Run(t.Context()))
	text := strings.Join(strings.Fields(strings.Join(r.Text(maxWidth), " ")), " ")
	for _, want := range []string{"✗ quick 100ms > 400 ", "✗ slow 8d8h 1 0 never 0 never", " never ", "Clients: 2, in 1 process."} {
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

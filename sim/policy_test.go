package sim

import (
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// noWait retries at once, without an end.
var noWait = retry.New(backoff.Backoff{})

// An attempt that lasts as long as ResetAfter restarts the count of retries, so the limit is never reached.
func TestResetAfter(t *testing.T) {
	limited := retry.New(backoff.Constant(time.Second), retry.Limit(3))
	resets := limited.With(retry.ResetAfter(2 * time.Second))
	o := Outage{Policy: limited, Clients: 1, Down: time.Minute, Capacity: 1, Timeout: 2 * time.Second}
	if r := runOutage(t, o); r.Attempts != 4 || r.Served != 0 {
		t.Errorf("without ResetAfter: %d attempts, %d served, want 4 and none", r.Attempts, r.Served)
	}
	o.Policy = resets
	if r := runOutage(t, o); r.Attempts != 21 || r.Served != 1 { // every 3 s up to a minute
		t.Errorf("with ResetAfter: %d attempts, %d served, want 21 and one", r.Attempts, r.Served)
	}
	o.Timeout -= time.Nanosecond
	if r := runOutage(t, o); r.Attempts != 4 {
		t.Errorf("with attempts that are too short for ResetAfter: %d attempts, want 4", r.Attempts)
	}

	// An attempt to write takes 40 ms here.
	c := OCC{Policy: retry.New(backoff.Backoff{}, retry.Limit(2)), Clients: 5, Network: still}
	if r := mustRun(t, c); r.Written != 3 {
		t.Errorf("%d of 5 have written with two retries, want 3", r.Written)
	}
	c.Policy = c.Policy.With(retry.ResetAfter(40 * time.Millisecond))
	if r := mustRun(t, c); r.Written != 5 {
		t.Errorf("%d of 5 have written with a ResetAfter of an attempt's time", r.Written)
	}
	c.Policy = c.Policy.With(retry.ResetAfter(41 * time.Millisecond))
	if r := mustRun(t, c); r.Written != 3 {
		t.Errorf("%d of 5 have written with a ResetAfter longer than an attempt, want 3", r.Written)
	}
}

func TestOutageAttemptTimeout(t *testing.T) {
	o := Outage{Policy: retry.New(backoff.Constant(time.Second)), Clients: 1, Down: 20 * time.Second, Capacity: 1, Timeout: 4 * time.Second}
	for timeout, want := range map[time.Duration]int64{time.Second: 11, 3 * time.Second: 6, 4 * time.Second: 5, time.Minute: 5} {
		o.Policy = o.Policy.With(retry.AttemptTimeout(timeout))
		if r := runOutage(t, o); r.Attempts != want {
			t.Errorf("with an AttemptTimeout of %v: %d attempts, want %d", timeout, r.Attempts, want)
		}
	}
}

// Each process has a budget of its own, with the tokens that the policy's has, and each run begins anew.
func TestEachProcessHasABudgetOfItsOwn(t *testing.T) {
	budget := retry.NewBudget(10, 1, 0)
	budget.Add(-3)
	o := Outage{Policy: retry.New(backoff.Constant(time.Second), retry.WithBudget(budget)), Clients: 100, Down: time.Hour, Capacity: 1}
	for _, test := range []struct {
		processes int
		place     Placement
		want      int64
	}{{0, OneProcess, 100 + 7}, {1, OneProcess, 100 + 7}, {4, OneProcess, 100 + 4*7}, {4, ByOrdinal, 100 + 4*7}, {100, OneProcess, 100 + 100*7}} {
		o.Processes, o.Placement = test.processes, test.place
		if r := runOutage(t, o); r.Attempts != test.want {
			t.Errorf("%d processes, %v: %d attempts, want %d", test.processes, test.place, r.Attempts, test.want)
		}
	}
	if got := budget.Tokens(); got != 7 {
		t.Errorf("the policy's own budget has %v tokens after the runs, want 7", got)
	}
	// A client that comes back in its process finds the budget as it was.
	o = Outage{Policy: retry.New(backoff.Constant(time.Second), retry.WithBudget(retry.NewBudget(2, 1, 0))),
		Clients: 1, Down: time.Hour, Capacity: 1, Return: time.Minute}
	r := runOutage(t, o)
	if r.GivenUp != r.Refused || r.Attempts != r.GivenUp+2+1 {
		t.Errorf("%d attempts of %d operations that gave up, want two retries in all", r.Attempts, r.GivenUp)
	}
	// A success refunds the budget of its own process.
	o = Outage{Policy: retry.New(backoff.Constant(time.Second), retry.WithBudget(retry.NewBudget(1, 1, 1))), Processes: 2, Clients: 4, Capacity: 1, Each: true}
	// Client 0 is served at once, which refunds process 0. Of its other client and of process 1's two, one each may retry.
	if r := runOutage(t, o); !slices.Equal(r.AttemptsOf, []int32{1, 2, 2, 1}) {
		t.Errorf("the clients made %v attempts", r.AttemptsOf)
	}
}

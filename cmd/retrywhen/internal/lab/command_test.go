package lab

import (
	"strings"
	"testing"
	"time"
)

// The command has the options that a state has set, and no others.
func TestCommand(t *testing.T) {
	for tab, want := range map[Tab][2]string{
		TabRecover: {
			`retrywhen sim overload --load 80 --service 10ms --stall 5s --horizon 2m0s --timeout 1s "sidekiq"`,
			`retrywhen sim overload --load 80 --service 10ms --stall 5s --horizon 2m0s --timeout 1s --failures 0.01 --queue 50 --seed 1 "sidekiq"`,
		},
		TabOutage: {
			`retrywhen sim outage --clients 1000 --down 1m0s --capacity 20 "sidekiq"`,
			`retrywhen sim outage --clients 1000 --down 1m0s --capacity 20 --timeout 1ns --seed 1 "sidekiq"`,
		},
		TabChoose: {
			`retrywhen sim choose --clients 1000 --processes 1 --capacity 20 --timeout 1s --outages 500ms,2s,5s,20s,1m0s --wait 1s`,
			`retrywhen sim choose --clients 1000 --processes 1 --capacity 20 --timeout 1s --outages 500ms,2s,5s,20s,1m0s --served 1ns --wait 1s --seed 1`,
		},
	} {
		s := First(tab)
		s.Strategies, s.Timeout = must("sidekiq"), 0
		if got := s.Command(); got != want[0] {
			t.Errorf("%s\nwant\n%s", got, want[0])
		}
		s.Failures, s.Queue, s.Timeout, s.Served, s.Seed = 0.01, 50, 1, 1, 1
		if got := s.Command(); got != want[1] {
			t.Errorf("%s\nwant\n%s", got, want[1])
		}
	}
	s := First(TabRecover)
	s.Strategies = must("sidekiq attempttimeout=2s")
	if got, want := s.Command(), `retrywhen sim overload --load 80 --service 10ms --stall 5s --horizon 2m0s "sidekiq attempttimeout=2s"`; got != want {
		t.Errorf("%s\nwant, with the policy's own timeout,\n%s", got, want)
	}
}

// The Go code of a policy has the attempt timeout that its run had: its own, else the tab's.
func TestGoHasTheAttemptTimeoutOfTheRun(t *testing.T) {
	for tab, want := range map[Tab]string{
		TabRecover: "var sidekiq = retry.New(backoff.Sidekiq(), retry.AttemptTimeout(3*time.Second))\n", TabOutage: "retry.AttemptTimeout(4*time.Second)",
	} {
		s := First(tab)
		s.Strategies, s.Patience, s.Timeout = must("sidekiq", "own: sidekiq attempttimeout=7s"), 3*time.Second, 4*time.Second
		d := describe(s, nil)
		if !strings.Contains(d.Go, want) || strings.Count(d.Go, "AttemptTimeout(7*time.Second)") != 1 {
			t.Errorf("%s:\n%s\nwant %s", tab, d.Go, want)
		}
		if !strings.Contains(d.Go, strings.TrimPrefix(d.Strategies[0].Go, "var policy = ")) || d.Strategies[0].Title != "sidekiq" || d.Strategies[0].Text != "sidekiq" {
			t.Errorf("%s: %+v, but the file\n%s", tab, d.Strategies[0], d.Go)
		}
	}
}

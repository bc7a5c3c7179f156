package lab

import (
	"testing"
)

// The command has the options that a state has set, and no others.
func TestCommand(t *testing.T) {
	for tab, want := range map[Tab][2]string{
		TabRecover: {
			`retrywhen sim overload --load 80 --service 10ms --stall 5s --horizon 2m0s --timeout 1s "sidekiq"`,
			`retrywhen sim overload --load 80 --service 10ms --stall 5s --horizon 2m0s --timeout 1s --failures 0.01 --seed 1 "sidekiq"`,
		},
		TabHerd: {
			`retrywhen sim herd --jobs 100 --retries 5 --own-axis=false "sidekiq"`,
			`retrywhen sim herd --jobs 100 --retries 5 --peak 1ns --dead 1ns --own-axis=true --seed 1 "sidekiq"`,
		},
		TabContention: {
			`retrywhen sim occ --clients 100 --runs 20 --own-axis=false "sidekiq"`,
			`retrywhen sim occ --clients 100 --runs 20 --own-axis=true --seed 1 "sidekiq"`,
		},
		TabOutage: {
			`retrywhen sim outage --clients 1000 --down 1m0s --capacity 20 "sidekiq"`,
			`retrywhen sim outage --clients 1000 --down 1m0s --capacity 20 --timeout 1ns --own-axis --seed 1 "sidekiq"`,
		},
		TabChoose: {
			`retrywhen sim choose --clients 1000 --processes 1 --capacity 20 --timeout 1s --outages 500ms,2s,5s,20s,1m0s --wait 1s`,
			`retrywhen sim choose --clients 1000 --processes 1 --capacity 20 --timeout 1s --outages 500ms,2s,5s,20s,1m0s --served 1ns --wait 1s --seed 1`,
		},
	} {
		s := First(tab)
		s.Strategies, s.Own, s.Timeout = must("sidekiq"), false, 0
		if got := s.Command(); got != want[0] {
			t.Errorf("%s\nwant\n%s", got, want[0])
		}
		s.Failures, s.Peak, s.Dead, s.Own, s.Timeout, s.Served, s.Seed = 0.01, 1, 1, true, 1, 1, 1
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

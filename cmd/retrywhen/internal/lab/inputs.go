package lab

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/sim"
)

// part returns the n-th part of the time that is left until ctx ends, as the maximum real time of a part of the work;
// 0, which is no limit, if it does not end by itself.
func part(ctx context.Context, n int) time.Duration {
	end, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return max(time.Until(end)/time.Duration(n), 1)
}

func (s State) overload() report.Overload {
	o := report.DefaultOverload()
	o.Strategies, o.Timeout, o.Progress = s.Strategies, s.Patience, yield
	o.Load, o.Service.Mean, o.Seed = float64(s.Load), time.Second/time.Duration(s.Rate), s.Seed
	o.Trigger.For, o.Failures, o.Horizon, o.Queue = s.Stall, s.Failures, s.Watch, s.Queue
	return o
}

func (s State) outage() report.Outage {
	return report.Outage{
		Strategies: s.Strategies, Progress: yield,
		Outage: sim.Outage{Clients: s.Affected, Down: s.Down, Capacity: s.Capacity, Timeout: s.Timeout, Seed: s.Seed},
	}
}

// choose returns the choice among the usual policies: the tab has no others.
func (s State) choose() report.Choose {
	c := report.DefaultChoose()
	c.Clients, c.Capacity, c.Outages, c.Served, c.Wait, c.Seed, c.Progress = s.Affected, s.Capacity, s.Outages, s.Served, s.Wait, s.Seed, yield
	c.Processes, c.Timeout = s.Fleet, s.Patience
	return c
}

// timeout returns the attempt timeout of policies that have none; 0 is none.
func (s State) timeout() time.Duration {
	return map[Tab]time.Duration{TabRecover: s.Patience, TabOutage: s.Timeout}[s.Tab]
}

// command returns the command that simulates the state's tab.
func (s State) command() string {
	return map[Tab]string{TabRecover: "overload", TabOutage: "outage", TabChoose: "choose"}[s.Tab]
}

package lab

import (
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/sim"
)

// work is the maximum real time for one strategy.
const work = 2 * time.Second

func (s State) overload() report.Overload {
	o := report.DefaultOverload()
	o.Strategies, o.Timeout, o.Work, o.Progress = s.Strategies, s.Patience, work, yield
	o.Load, o.Service.Mean, o.Seed = float64(s.Load), time.Second/time.Duration(s.Rate), s.Seed
	o.Trigger.For, o.Failures, o.Horizon = s.Stall, s.Failures, s.Watch
	return o
}

func (s State) herd() report.Herd {
	return report.Herd{
		Strategies: s.Strategies, Jobs: s.Jobs, Retries: s.Retries, PeakWindow: s.Peak, DeadWindow: s.Dead, Seed: s.Seed, Own: &s.Own, Progress: yield,
	}
}

func (s State) contention() report.Contention {
	return report.Contention{
		Strategies: s.Strategies, Clients: s.Clients, Points: report.ContentionPoints, Runs: s.Runs, Network: sim.DefaultNetwork,
		Seed: s.Seed, Own: s.Own, Progress: yield,
	}
}

func (s State) outage() report.Outage {
	return report.Outage{
		Strategies: s.Strategies, Work: work, Own: s.Own, Progress: yield,
		Outage: sim.Outage{Clients: s.Affected, Down: s.Down, Capacity: s.Capacity, Timeout: s.Timeout, Seed: s.Seed, Bin: time.Second},
	}
}

// choose returns the choice among the usual policies: the tab has no others.
func (s State) choose() report.Choose {
	c := report.DefaultChoose()
	c.Clients, c.Capacity, c.Outages, c.Served, c.Wait, c.Seed, c.Progress = s.Affected, s.Capacity, s.Outages, s.Served, s.Wait, s.Seed, yield
	c.Processes, c.Timeout, c.Work = s.Fleet, s.Patience, maxWork/2
	return c
}

// input returns the simulation of the state's tab.
func (s State) input() report.Input {
	switch s.Tab {
	case TabHerd:
		return s.herd()
	case TabContention:
		return s.contention()
	case TabOutage:
		return s.outage()
	case TabChoose:
		return s.choose()
	default:
		return s.overload()
	}
}

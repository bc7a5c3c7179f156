package lab

import (
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

// Default returns the first state of the page: does a server recover from a short standstill?
func Default() State {
	o := report.DefaultOverload()
	return State{
		Tab: TabRecover, Strategies: o.Strategies,
		Load: int(o.Load), Rate: int(time.Second / o.Service.Mean), Stall: o.Trigger.For, Patience: o.Timeout, Watch: 2 * time.Minute,
		Jobs: 100, Retries: 5,
		Clients: 50, Runs: 20,
		Affected: 500, Down: time.Minute, Capacity: 20,
		Fleet: report.DefaultChoose().Processes, Outages: report.DefaultChoose().Outages, Wait: report.DefaultChoose().Wait,
	}
}

// Presets returns the first state of each tab.
func Presets() []State {
	herd := Default()
	herd.Tab = TabHerd
	herd.Strategies = must(
		"no jitter: exponential base=1s factor=2 cap=30s",
		"full jitter: exponential base=1s factor=2 cap=30s jitter=full",
		"tiled: exponential base=1s factor=2 cap=30s tiled")

	contention := Default()
	contention.Tab = TabContention
	contention.Strategies = must( // the strategies of "Exponential Backoff And Jitter"
		"none: constant d=0s",
		"exponential: exponential base=10ms factor=2 cap=2s",
		"full: exponential base=10ms factor=2 cap=2s jitter=full",
		"equal: exponential base=10ms factor=2 cap=2s jitter=equal",
		"decorrelated: decorrelated base=5ms cap=2s",
	)
	contention.Clients, contention.Retries, contention.Down = 100, 8, 5*time.Second
	contention.Timeout = 10 * time.Millisecond // otherwise clients without a backoff would retry endlessly at one instant

	outage := Default()
	outage.Tab = TabOutage
	outage.Strategies = must(
		"constant: constant d=5s",
		"15 %: exponential base=1s factor=2 cap=30s jitter=default",
		"equal: exponential base=1s factor=2 cap=30s jitter=equal",
		"full: exponential base=1s factor=2 cap=30s jitter=full",
		"decorrelated: decorrelated base=1s cap=30s",
		"tiled: exponential base=1s factor=2 cap=30s tiled")
	outage.Affected, outage.Clients = 1000, 20

	choose := Default()
	choose.Tab, choose.Affected = TabChoose, 1000

	return []State{Default(), herd, contention, outage, choose}
}

// First returns the first state of a tab, or Default if there is no such tab.
func First(t Tab) State {
	for _, p := range Presets() {
		if p.Tab == t {
			return p
		}
	}
	return Default()
}

var must = report.MustParse

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
		Affected: 500, Down: time.Minute, Capacity: 20,
		Fleet: report.DefaultChoose().Processes, Outages: report.DefaultChoose().Outages, Wait: report.DefaultChoose().Wait,
	}
}

// Presets returns the first state of each tab.
func Presets() []State {
	outage := Default()
	outage.Tab, outage.Affected, outage.Strategies = TabOutage, 1000, report.DefaultOutage()

	choose := Default()
	choose.Tab, choose.Affected = TabChoose, 1000

	return []State{Default(), choose, outage}
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

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

func newSimOutage() *cobra.Command {
	in, budget := report.Outage{Strategies: report.DefaultOutage()}, ""
	s := simulation{strategies: &in.Strategies, progress: &in.Progress}
	c := &cobra.Command{
		Use:   "outage [POLICY...]",
		Short: "Simulate a server that comes back: how long until all are served?",
		Long: `Outage simulates a server that is down for a time. Then it serves a limited
number of clients per second; the attempts of the others fail. Outage writes how
many attempts a client makes, how high the load peaks, how many attempts fail
after the server's return, and when all clients are served. Charts of the
attempts follow.

A retry budget is one of each process: --budget
capacity,cost,refund[,refill per second], or a policy's option budget=. There is
one process, or as many as --processes or a policy's option processes= says.`,
		Example: `  retrywhen sim outage
  retrywhen sim outage "equal: exponential base=1s factor=2 cap=30s jitter=equal"
  retrywhen sim outage --limit 3 --return 20s --budget 100,1,0.1,10`,
		RunE: func(c *cobra.Command, args []string) error {
			if in.Limit < 0 || in.Limit == 0 && c.Flags().Changed("limit") {
				return fmt.Errorf("outage: --limit is %d, want at least 1", in.Limit)
			}
			if c.Flags().Changed("budget") {
				var err error
				if in.Budget, err = report.ParseBudget(budget); err != nil {
					return fmt.Errorf("outage: --budget is %q: %w", budget, err)
				}
			}
			return s.run(c, args, in.Timeout, func(ctx context.Context) (report.Result, error) { return in.Run(ctx) })
		},
	}
	s.simFlags(c, lab.TabOutage, &in.Seed, placeWords...)
	c.Flags().DurationVar(&in.Horizon, "horizon", 0, "simulation end (default: a week after the server's return)")
	c.Flags().IntVarP(&in.Clients, "clients", "c", 1000, "number of clients, each of which must be served once")
	c.Flags().IntVar(&in.Processes, "processes", 0, "number of processes that the clients are divided among, each with a budget of its own (default: one)")
	c.Flags().DurationVar(&in.Down, "down", time.Minute, "length of the outage")
	c.Flags().IntVar(&in.Capacity, "capacity", 20, "capacity per second: the clients that the server serves after its return")
	c.Flags().DurationVar(&in.Timeout, "timeout", 0, "attempt timeout: how long a failing attempt lasts (default: no time)")
	c.Flags().DurationVar(&in.Arrive, "arrive", 0, "the first attempts come at random within this time (default: all at once)")
	c.Flags().IntVar(&in.Limit, "limit", 0, "clients give up after this many retries (default: their policy's limit, or never)")
	c.Flags().BoolVar(&in.Slots, "slots", false, "after the server's return a refused client receives the next free slot as Retry-After")
	c.Flags().DurationVar(&in.Return, "return", 0, "clients that gave up come back after this time on average (default: never)")
	c.Flags().StringVar(&budget, "budget", "", "a retry budget for policies without one: `capacity,cost,refund`[,refill per second]")
	return c
}

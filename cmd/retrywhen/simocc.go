package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/sim"
)

func newSimOCC() *cobra.Command {
	in := report.Contention{Strategies: report.DefaultContention()}
	s := simulation{strategies: &in.Strategies, progress: &in.Progress}
	c := &cobra.Command{
		Use:   "occ [POLICY...]",
		Short: "Simulate clients that contend for one row: how many calls, how long?",
		Long: `Occ simulates clients that each write the same row once (optimistic concurrency
control). A client reads, then writes. Its write fails if another client has
written in between. Then the client waits and reads again. A message takes
|normal(10, 2)| ms.

Occ writes the number of write calls, and the time until all are done,
against the number of clients. These are the two figures of "Exponential Backoff
And Jitter" (AWS Architecture Blog, 2015). Without a policy it uses the five
strategies of that article.`,
		Example: `  retrywhen sim occ
  retrywhen sim occ --runs 1000 --clients 100 --points 1
  retrywhen sim occ "full: exponential base=10ms factor=2 cap=2s jitter=full" -o occ.svg`,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case in.Clients < 1 || in.Clients > 10_000_000:
				return fmt.Errorf("occ: --clients is %d, want 1 to 10000000", in.Clients)
			case in.Points < 1 || in.Points > 1000:
				return fmt.Errorf("occ: --points is %d, want 1 to 1000", in.Points)
			}
			return s.run(c, args, 0, func(ctx context.Context) (report.Result, error) { return in.Run(ctx) })
		},
	}
	s.simFlags(c, "", &in.Seed, placeWords...)
	c.Flags().DurationVar(&in.Horizon, "horizon", 0, "simulation end of each run (default: 30 days)")
	c.Flags().IntVarP(&in.Clients, "clients", "c", 100, "largest number of clients")
	c.Flags().IntVar(&in.Points, "points", report.ContentionPoints, "number of points, evenly spaced up to --clients")
	c.Flags().IntVar(&in.Runs, "runs", 100, "number of runs of which each point is the mean")
	c.Flags().DurationVar(&in.Network.Mean, "network", sim.DefaultNetwork.Mean, "mean time of a message")
	c.Flags().DurationVar(&in.Network.SD, "network-sd", sim.DefaultNetwork.SD, "standard deviation of the time of a message")
	return c
}

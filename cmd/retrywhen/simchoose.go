package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

func newSimChoose() *cobra.Command {
	in := report.DefaultChoose()
	s := simulation{strategies: &in.Strategies, progress: &in.Progress}
	c := &cobra.Command{
		Use:   "choose [POLICY...]",
		Short: "Recommend a policy for a number of clients and a capacity",
		Long: `Choose recommends two policies, as text and in Go. Request is for calls for which
a person waits: always three retries with short waits, an attempt timeout and a
budget, of a few the largest with which a server recovers from a stall in all
runs, or in most. Job is for jobs and connections, which never give up: the
backoff alone. The figures are those of the policies as they are printed, in
outages of several lengths, and of the request in a stall.

Of the backoffs that meet the targets --served and --wait, for clients that fail
together, it takes the one that serves all soonest, or one with fewer refusals
that is at most a tenth later. A table has all backoffs: how often a client
attempts in an hour, how often it is refused after the server's return, when all
clients are served, the same if they come at random times, and how long an
operation waits if it fails alone.

Without a policy it tries the usual backoffs, and some that are computed from the
number of clients and the capacity. The choice does not depend on --seed.`,
		Example: `  retrywhen sim choose --clients 1000 --capacity 20
  retrywhen sim choose --clients 300 --capacity 50 --served 20s --wait 1s
  retrywhen sim choose --place by-ordinal --outages 5s,10m -o choose.svg`,
		RunE: func(c *cobra.Command, args []string) error {
			in.Placement, _ = report.ParsePlacement(s.place.text)
			return s.run(c, args, in.Timeout, func(ctx context.Context) (report.Result, error) { return in.Run(ctx) })
		},
	}
	s.simFlags(c, lab.TabChoose, &in.Seed, placeWords[:1]...)
	c.Flags().IntVarP(&in.Clients, "clients", "c", in.Clients, "number of clients that fail together")
	c.Flags().IntVar(&in.Processes, "processes", in.Processes, "number of processes among which the clients are divided: each has its own draws and its own budget")
	c.Flags().DurationVar(&in.Timeout, "timeout", in.Timeout, "attempt timeout of the recommended policy")
	c.Flags().IntVar(&in.Capacity, "capacity", in.Capacity, "capacity per second: the clients that the server serves after its return")
	c.Flags().DurationSliceVar(&in.Outages, "outages", in.Outages, "the `lengths` of the outages")
	c.Flags().Lookup("outages").DefValue = "500ms,2s,5s,20s,1m"
	c.Flags().DurationVar(&in.Served, "served", 0, "target: all clients are served within this time of the server's return (default: none)")
	c.Flags().DurationVar(&in.Wait, "wait", in.Wait, "target: 99 % of the operations that fail alone wait no longer: at least 1s, or 0 for none")
	c.Flags().IntVar(&in.Runs, "runs", in.Runs, "number of runs of each outage for the figures; the choice has at least 2,000 clients in its runs, at most 200 runs")
	return c
}

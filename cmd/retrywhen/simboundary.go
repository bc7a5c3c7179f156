package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

func newSimBoundary() *cobra.Command {
	in := report.Boundary{Overload: report.DefaultOverload()}
	s := simulation{strategies: &in.Strategies, progress: &in.Progress}
	c := &cobra.Command{
		Use:   "boundary [POLICY...]",
		Short: "Find the load up to which a server recovers from a stall",
		Long: `Boundary finds the load up to which a server recovers in all runs: within a
minute of the stall's end. It simulates the server of sim overload at several
loads, several times each. A chart shows in how many runs the server recovers at
each load.`,
		Example: `  retrywhen sim boundary
  retrywhen sim boundary --stall 2s --points 9 "exponential base=1s factor=2 jitter=full limit=3"
  retrywhen sim boundary --loads 60,70,80 --runs 100 "constant d=1s limit=3 budget=10,1,0.1"`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkOverload(c, args, &in.Overload); err != nil {
				return err
			}
			switch {
			case in.Points < 1 || in.Points > 1000:
				return fmt.Errorf("boundary: --points is %d, want 1 to 1000", in.Points)
			case c.Flags().Changed("loads") && c.Flags().Changed("points"):
				return errors.New("boundary: want --loads or --points, not both")
			}
			return s.run(c, args, in.Timeout, func(ctx context.Context) (report.Result, error) { return in.Run(ctx) })
		},
	}
	s.simFlags(c, "", &in.Seed, layerWords...)
	overloadFlags(c, &in.Overload)
	c.Flags().IntVar(&in.Points, "points", 19, "number of loads, evenly spaced below the capacity")
	c.Flags().Float64SliceVar(&in.Loads, "loads", nil, "the `loads` in operations per second, as in 60,70,80 (default: by --points)")
	c.Flags().Lookup("loads").DefValue = ""
	c.Flags().IntVar(&in.Runs, "runs", 10, "number of runs at each load")
	return c
}

package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

func newSimHerd() *cobra.Command {
	in := report.DefaultHerd()
	s := simulation{strategies: &in.Strategies, progress: &in.Progress}
	c := &cobra.Command{
		Use:   "herd [POLICY...]",
		Short: "Simulate jobs that fail together: when do their retries come?",
		Long: `Herd simulates jobs that fail together at time 0. Each is retried several times,
and every retry fails at once. The figures are the total wait until the last
retry, the peak of the load over its mean, the dead time without retries, and how
much the waits differ from job to job (CV: the standard deviation over the mean).
A chart of the load follows. The picture of -o has a dot for each retry too.

Without a policy it compares the four of the article "Visualization of backoff
functions" with one that spreads the retries although the waits differ little.`,
		Example: `  retrywhen sim herd
  retrywhen sim herd "exponential base=1s factor=2" "linear d=6s tiled"
  retrywhen sim herd --jobs 1000 "sidekiq" -o herd.svg`,
		RunE: func(c *cobra.Command, args []string) error {
			if in.Runs < 0 || in.Runs > 1_000_000 {
				return fmt.Errorf("herd: --runs is %d, want 0 to 1000000", in.Runs)
			}
			return s.run(c, args, 0, func(ctx context.Context) (report.Result, error) { return in.Run(ctx) })
		},
	}
	s.simFlags(c, "", &in.Seed, placeWords...)
	c.Flags().DurationVar(&in.Horizon, "horizon", 0, "simulation end of the charts; the figures ignore it (default: none)")
	c.Flags().IntVarP(&in.Jobs, "jobs", "j", in.Jobs, "number of jobs that fail together")
	c.Flags().IntVarP(&in.Retries, "retries", "n", in.Retries, "number of retries of each job, at most its policy's limit")
	c.Flags().IntVar(&in.Runs, "runs", 0, "number of runs of which the figures are means (default: up to 200, by the size)")
	return c
}

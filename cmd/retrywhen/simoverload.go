package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
)

func newSimOverload() *cobra.Command {
	in := report.DefaultOverload()
	s := simulation{strategies: &in.Strategies, progress: &in.Progress}
	c := &cobra.Command{
		Use:   "overload [POLICY...]",
		Short: "Simulate a server that stalls: does it recover from the retries?",
		Long: `Overload simulates a server with a queue. Operations come at random times, at the
same rate whatever the server's state, or from --loops. The server stalls for a
time. It does not know when a caller has left, so it works on such requests too.
Overload writes in how many runs the server recovers within a minute of the
stall's end, and when: from then on 95 % of the operations are answered within
the attempt timeout. A random failure that comes in time is an answer. A chart of
the requests that reach the server follows.

A policy may have its own attempttimeout=, and these options:
budget=capacity,cost,refund[,refill per second] is a budget of each process,
processes=20 makes 20 processes, layers=3 makes three layers with the policy.`,
		Example: `  retrywhen sim overload
  retrywhen sim overload --load 50 "exponential base=1s factor=2 jitter=full limit=3"
  retrywhen sim overload --queue 50 "grpc processes=200" aws -o overload.svg`,
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkOverload(c, args, &in); err != nil {
				return err
			}
			return s.run(c, args, in.Timeout, func(ctx context.Context) (report.Result, error) { return in.Run(ctx) })
		},
	}
	s.simFlags(c, "", &in.Seed, layerWords...)
	overloadFlags(c, &in)
	c.Flags().Float64VarP(&in.Load, "load", "l", in.Load, "operations per second")
	c.Flags().IntVar(&in.Loops, "loops", 0, "callers instead of --load, each of which starts its next operation when its last one has ended")
	c.Flags().DurationVar(&in.Horizon, "horizon", 0, "simulation end of the charts (default: 1.5 times the longest recovery, at least 1m)")
	c.Flags().IntVar(&in.Runs, "runs", in.Runs, "number of runs that say how often the server recovers; the other figures are of the median one")
	return c
}

// overloadFlags are the flags that overload and boundary have in common.
func overloadFlags(c *cobra.Command, in *report.Overload) {
	c.Flags().DurationVar(&in.Service.Mean, "service", in.Service.Mean, "mean service time of a request; the capacity per second is its inverse")
	c.Flags().DurationVar(&in.Trigger.At, "at", in.Trigger.At, "when the server stalls")
	c.Flags().DurationVar(&in.Trigger.For, "stall", in.Trigger.For, "length of the stall")
	c.Flags().DurationVar(&in.Timeout, "timeout", in.Timeout, "attempt timeout of policies that have none; 0 is no timeout")
	c.Flags().DurationVar(&in.Healthy, "healthy", 0, "a healthy operation is answered within this time (default: the attempt timeout, or 1s)")
	c.Flags().Var((*percentage)(&in.Failures), "failures", "share of the requests that fail at random, as in 1%")
	c.Flags().IntVar(&in.Queue, "queue", 0, "maximum number of requests in the queue (default: no limit)")
	c.Flags().DurationVar(&in.Refusal, "refusal", 0, "time until a caller knows that the queue is full")
	c.Flags().BoolVar(&in.Drop, "drop", false, "the server drops requests whose callers have left")
}

// checkOverload returns an error for flags that cannot be, and writes a note for one that has no effect.
func checkOverload(c *cobra.Command, args []string, in *report.Overload) error {
	if in.Runs < 1 || in.Runs > 100_000 {
		return fmt.Errorf("%s: --runs is %d, want 1 to 100000", c.Name(), in.Runs)
	}
	if in.Timeout < 0 {
		return fmt.Errorf("%s: --timeout is %v, want at least 0", c.Name(), in.Timeout)
	}
	if in.Loops > 0 {
		if c.Flags().Changed("load") {
			fmt.Fprintf(c.ErrOrStderr(), "retrywhen: %s: --load has no effect here: the callers are --loops\n", c.Name())
		}
		in.Load = 0
	}
	strategies, err := report.ParseStrategies(args)
	own := len(args) > 0 && err == nil
	for _, s := range strategies {
		_, ok := s.Policy.AttemptTimeout()
		own = own && ok
	}
	if own && c.Flags().Changed("timeout") {
		fmt.Fprintf(c.ErrOrStderr(), "retrywhen: %s: --timeout has no effect here: each policy has its own attempttimeout=\n", c.Name())
	}
	return nil
}

// percentage is the flag of a share, as in 1% or 0.01.
type percentage float64

func (p *percentage) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	x, err := strconv.ParseFloat(number, 64)
	if percent {
		x /= 100
	}
	if err == nil && !(x >= 0 && x <= 1) {
		err = strconv.ErrRange
	}
	*p = percentage(x)
	return err
}

func (p *percentage) String() string { return strconv.FormatFloat(100*float64(*p), 'g', -1, 64) + "%" }
func (p *percentage) Type() string   { return "percentage" }

func (p *percentage) wants() string { return "a share from 0% to 100%, as in 1% or 0.01" }

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/lab"
	"github.com/retrywhen/retrywhen/sim"
)

// overloadFlags are the flags of sim overload.
type overloadFlags struct {
	simulation
	model.Overload
	shape string
}

func newSimOverload() *cobra.Command {
	f := overloadFlags{Overload: model.DefaultOverload()}
	c := &cobra.Command{
		Use:   "overload [POLICY...]",
		Short: "Simulate a server that stalls: does it recover from the retries?",
		Long: `Overload simulates a server with a queue. Operations come at random times, at the
same rate whatever the server's state. The server stalls, or slows down, for a
time. It does not know when a caller has left, so it works on such requests too.
Overload writes whether and when the server recovers: from then on 95 % of the
operations succeed within the attempt timeout. Charts of the requests that reach
the server, and of the operations that succeed, follow.

A policy may have its own attempttimeout=, and these options:
budget=capacity,cost,refund[,refill per second] is shared by all retries,
processes=20 makes 20 such budgets, layers=3 makes three layers with the policy.`,
		Example: `  retrywhen sim overload
  retrywhen sim overload --load 50 "exponential base=1s factor=2 jitter=full limit=3"
  retrywhen sim overload --queue 50 --slots "constant d=1s limit=3 budget=10,1,0.1" -o overload.svg`,
		RunE: func(c *cobra.Command, args []string) error {
			strategies, err := f.strategies(args, func() []model.Strategy { return f.Strategies })
			if err == nil {
				err = refuseWords(strategies, "place")
			}
			if err == nil {
				err = f.service()
			}
			if err != nil {
				return fmt.Errorf("overload: %w", err)
			}
			return f.run(c, func(ctx context.Context, progress model.Progress) (report, error) {
				o := f.Overload
				o.Strategies, o.Seed, o.Progress = strategies, f.seed, progress
				r, err := o.Run(ctx)
				if r == nil {
					return report{}, err
				}
				for _, x := range r.Strategies {
					if err == nil {
						err = x.Err
					}
				}
				shown := &overload{r, o}
				return report{
					text: shown.text, json: r, figure: shown.figure,
					page: func(w io.Writer) error {
						state := lab.Default()
						state.Strategies, state.Seed = strategies, f.seed
						state.Load, state.Rate = bounded(o.Load), bounded(1/o.Service.Mean.Seconds())
						state.Stall, state.Patience = min(o.Trigger.For, time.Minute), min(o.Timeout, time.Minute)
						state.Watch = min(max(o.Horizon, 20*time.Second), lab.MaxWatch)
						return lab.WritePage(c.Context(), w, state)
					},
				}, err
			})
		},
	}
	f.output.flags(c)
	seedFlag(c, &f.seed)
	c.Flags().Float64VarP(&f.Load, "load", "l", f.Load, "operations per second")
	c.Flags().DurationVar(&f.Service.Mean, "service", f.Service.Mean, "mean service time of a request; the capacity per second is its inverse")
	c.Flags().StringVar(&f.shape, "shape", "constant", "distribution of the service times: constant, exponential, or log-normal:CV")
	c.Flags().DurationVar(&f.Trigger.At, "at", f.Trigger.At, "when the server stalls or slows down")
	c.Flags().DurationVar(&f.Trigger.For, "stall", f.Trigger.For, "length of the stall")
	c.Flags().Float64Var(&f.Trigger.Speed, "speed", 0, "share of the server's speed during the stall, 0 to 1")
	c.Flags().DurationVar(&f.Trigger.Ramp, "ramp", 0, "time after the stall in which the speed grows linearly to full speed")
	c.Flags().DurationVar(&f.Timeout, "timeout", f.Timeout, "attempt timeout of policies that have none")
	c.Flags().DurationVar(&f.Healthy, "healthy", 0, "a healthy operation succeeds within this time (default: the attempt timeout)")
	c.Flags().IntVar(&f.Queue, "queue", 0, "maximum number of requests in the queue (default: no limit)")
	c.Flags().BoolVar(&f.Slots, "slots", false, "a request that finds the queue full receives the next free slot as Retry-After")
	c.Flags().BoolVar(&f.Drop, "drop", false, "the server drops requests whose callers have left")
	c.Flags().DurationVar(&f.Overload.Horizon, "horizon", f.Overload.Horizon, "simulation end")
	c.Flags().DurationVar(&f.Bin, "bin", time.Second, "width of the bins of the charts")
	_ = c.RegisterFlagCompletionFunc("shape", cobra.FixedCompletions([]string{"constant", "exponential", "log-normal:1"}, cobra.ShellCompDirectiveNoFileComp)) // it fails only for an unknown flag
	c.ValidArgsFunction = completePolicy
	return c
}

// bounded returns a rate within the page's limits.
func bounded(rate float64) int { return int(min(max(math.Round(rate), 1), lab.MaxLoad)) }

// service parses --shape.
func (f *overloadFlags) service() error {
	name, cv, _ := strings.Cut(f.shape, ":")
	s := &f.Overload.Service
	err := s.Shape.UnmarshalText([]byte(name))
	if s.Shape == sim.LogNormalService && err == nil {
		s.CV, err = strconv.ParseFloat(cv, 64)
	} else if cv != "" {
		err = errors.ErrUnsupported
	}
	if err != nil {
		return fmt.Errorf("--shape is %q, want constant, exponential, or log-normal:CV as in log-normal:0.5", f.shape)
	}
	return nil
}

// overload is a result of sim overload.
type overload struct {
	*model.OverloadResult
	of model.Overload
}

// rate returns the number per second for a number in a bin.
func rate(n int64, bin time.Duration) float64 { return float64(n) / bin.Seconds() }

func (o *overload) text(w io.Writer, width int) error {
	width = min(width, 140)
	var rows [][]string
	for _, s := range o.Strategies {
		r := s.Result
		rows = append(rows, []string{
			s.Name, s.Recovery(), fmt.Sprintf("%.1f", r.Amplification), share(r.Succeeded, r.Operations), share(r.Wasted, r.Wasted+r.Served),
			axis.Time(r.Latency.P50), axis.Time(r.Latency.P99),
		})
	}
	lines := console.Fit(width, []string{"policy", "recovers", "requests", "succeeded", "wasted", "median", "p99"}, rows, 2)
	lines = append(lines, console.Wrap(width, strings.Fields("Requests: per operation. Succeeded: operations. Wasted: work for callers that had left. "+
		"Median, p99: latency of the operations that succeeded. "+o.setting()+" The charts: requests that reach the server, operations that succeed.")...)...)
	const margin, barLines = 8, 3
	span := console.Span{Most: o.Horizon, Width: max(width-margin, 24)}
	most := o.most()
	for _, s := range o.Strategies {
		f := s.Result.Flow
		lines = append(lines, "", console.Shorten(s.Name+": "+s.Verdict(), width))
		if s.Note != "" {
			lines = append(lines, s.Note)
		}
		for _, bins := range [][]int64{f.Offered, f.Succeeded} {
			lines = append(lines, indent(console.Bars(o.row(bins, f.Bin, most, span.Width), 1000, barLines), margin, axis.Number(most)+"/s")...)
		}
		marks := span.Marks([]time.Duration{o.Trigger.At, o.Trigger.At + o.Trigger.For}, func(i int) rune { return []rune("▼▲")[i] })
		lines = append(lines, indent([]string{marks, span.Labels()}, margin, "")...)
	}
	return writeLines(w, lines)
}

// most returns the highest rate of requests of all strategies.
func (o *overload) most() float64 {
	most := 1.0
	for _, s := range o.Strategies {
		most = max(most, rate(slices.Max(s.Result.Flow.Offered), s.Result.Flow.Bin))
	}
	return most
}

// row returns the mean of the bins under each column, in thousandths of most.
func (o *overload) row(bins []int64, bin time.Duration, most float64, columns int) []int64 {
	row := make([]int64, columns)
	for i := range row {
		from := i * len(bins) / columns
		to := max((i+1)*len(bins)/columns, from+1)
		sum := int64(0)
		for _, n := range bins[from:to] {
			sum += n
		}
		row[i] = int64(math.Ceil(1000 * rate(sum, bin*time.Duration(to-from)) / most))
	}
	return row
}

func share(n, of int64) string {
	if of == 0 {
		return "-"
	}
	return percent(float64(n) / float64(of))
}

// setting returns a sentence about the load and the trigger.
func (o *overload) setting() string {
	what := "it stands still"
	if o.Trigger.Speed > 0 {
		what = "it works at " + percent(o.Trigger.Speed) + " speed"
	}
	back := "."
	if o.Trigger.Ramp > 0 {
		back = fmt.Sprintf(", and reaches full speed %s later.", axis.Time(o.Trigger.Ramp))
	}
	return fmt.Sprintf("Load: %s operations per second. The server's capacity is %s per second; from %s on %s for %s%s",
		axis.Number(o.Load), axis.Number(1/o.of.Service.Mean.Seconds()), axis.Time(o.Trigger.At), what, axis.Time(o.Trigger.For), back)
}

func (o *overload) figure() picture.Figure {
	const columns, height, bars = 2, 170, 150
	f := picture.Figure{
		Columns: min(columns, max(len(o.Strategies), 1)),
		Keys:    []picture.Key{{Name: "requests to the server", Color: picture.Plain}, {Name: "operations that succeed", Color: picture.Series(0)}},
		Note:    o.setting(),
	}
	highest := o.most()
	end := o.Horizon
	for _, s := range o.Strategies {
		flow := s.Result.Flow
		n := (len(flow.Offered)-1)/bars + 1
		series := func(counts []int64) []picture.Bar {
			var all []picture.Bar
			for i := 0; i < len(counts); i += n {
				sum, bins := int64(0), counts[i:min(i+n, len(counts))]
				for _, c := range bins {
					sum += c
				}
				from, to := flow.Bin*time.Duration(i), min(flow.Bin*time.Duration(i+len(bins)), end)
				all = append(all, picture.Bar{From: from.Seconds(), To: to.Seconds(), Height: rate(sum, to-from)})
			}
			return all
		}
		f.Panels = append(f.Panels, picture.Panel{
			Title: console.Shorten(s.Name+": "+s.Verdict(), 64), Height: height,
			X: picture.Axis{Most: end.Seconds(), Ticks: axis.Times(end, 6), Label: "time"},
			Y: picture.Axis{Most: highest, Ticks: axis.Numbers(highest, 4), Label: "per second"},
			Marks: []picture.Mark{
				picture.Bars{Bars: series(flow.Offered), Color: picture.Plain}, picture.Bars{Bars: series(flow.Succeeded), Color: picture.Series(0)},
				picture.Rule{X: o.Trigger.At.Seconds(), Most: highest, Label: "stall"},
				picture.Rule{X: (o.Trigger.At + o.Trigger.For).Seconds(), Most: highest},
			},
		})
	}
	return f
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/lab"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// outageFlags are the flags of sim outage.
type outageFlags struct {
	simulation
	clients, capacity, limit           int
	down, timeout, arrive, back, width time.Duration
	budget                             string
	slots, each                        bool
}

func newSimOutage() *cobra.Command {
	var f outageFlags
	c := &cobra.Command{
		Use:   "outage [POLICY...]",
		Short: "Simulate a server that comes back: how long until all are served?",
		Long: `Outage simulates a server that is down for a time. Then it serves a limited number
of clients per second; the attempts of the others fail. Outage writes how many
attempts a client makes, how high the load peaks, how many attempts fail after the
server's return, and when all clients are served. Charts of the attempts follow.

Each process has a retry budget of its own: --budget
capacity,cost,refund[,refill per second], or a policy's option budget=. There is
one process, or as many as a policy's option processes= says.`,
		Example: `  retrywhen sim outage
  retrywhen sim outage "equal: exponential base=1s factor=2 cap=30s jitter=equal"
  retrywhen sim outage --limit 3 --return 20s --budget 100,1,0.1,10`,
		RunE: func(c *cobra.Command, args []string) error {
			strategies, err := f.strategies(args, func() []model.Strategy { return lab.Presets()[3].State.Strategies })
			if err == nil {
				err = refuseWords(strategies, "layers")
			}
			switch {
			case err != nil:
				return fmt.Errorf("outage: %w", err)
			case f.limit < 0:
				return fmt.Errorf("outage: --limit is %d, want at least 0", f.limit)
			}
			const week = 7 * 24 * time.Hour
			if f.horizon == 0 {
				f.horizon = max(f.down, 0) + min(week, math.MaxInt64-max(f.down, 0))
			}
			return f.run(c, func(ctx context.Context, progress model.Progress) (report, error) {
				o, err := f.compute(ctx, strategies, progress)
				if o == nil {
					return report{}, err
				}
				return report{
					text: o.text, json: o, figure: o.figure,
					page: func(w io.Writer) error {
						state := lab.Presets()[3].State
						state.Strategies, state.Seed = strategies, f.seed
						state.Affected, state.Capacity = min(f.clients, lab.MaxAffected), min(f.capacity, lab.MaxCapacity)
						state.Down, state.Timeout = min(f.down, lab.MaxDown), f.timeout
						return lab.WritePage(c.Context(), w, state)
					},
				}, err
			})
		},
	}
	f.flags(c)
	c.Flags().IntVarP(&f.clients, "clients", "c", 1000, "number of clients, each of which must be served once")
	c.Flags().DurationVar(&f.down, "down", time.Minute, "length of the outage")
	c.Flags().IntVar(&f.capacity, "capacity", 20, "capacity per second: the clients that the server serves after its return")
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "attempt timeout: how long a failing attempt lasts (default: no time)")
	c.Flags().DurationVar(&f.arrive, "arrive", 0, "the first attempts come at random within this time (default: all at once)")
	c.Flags().IntVar(&f.limit, "limit", 0, "clients give up after this many retries (default: their policy's limit, or never)")
	c.Flags().BoolVar(&f.slots, "slots", false, "after the server's return a refused client receives the next free slot as Retry-After")
	c.Flags().BoolVar(&f.each, "each", false, "JSON has the attempts and the time of service of each client")
	c.Flags().DurationVar(&f.back, "return", 0, "clients that gave up come back after this time on average (default: never)")
	c.Flags().DurationVar(&f.width, "bin", time.Second, "width of the bins in which peaks are counted")
	c.Flags().StringVar(&f.budget, "budget", "", "a retry budget for policies without one: `capacity,cost,refund`[,refill per second]")
	c.Flags().Lookup("horizon").Usage = "simulation end (default: a week after the server's return)"
	return c
}

// outage is a result of sim outage.
type outage struct{ *model.OutageResult }

func (f *outageFlags) compute(ctx context.Context, strategies []model.Strategy, progress model.Progress) (*outage, error) {
	budget, err := parseBudget(f.budget)
	if err != nil {
		return nil, err
	}
	r, err := model.Outage{
		Strategies: strategies, Limit: f.limit, Budget: budget, Progress: progress,
		Outage: sim.Outage{
			Clients: f.clients, Down: f.down, Capacity: f.capacity, Timeout: f.timeout, Arrive: f.arrive, Return: f.back,
			Slots: f.slots, Each: f.each, Bin: f.width, Seed: f.seed, Horizon: f.horizon,
		},
	}.Run(ctx)
	if r == nil {
		return nil, err
	}
	for i := range r.Strategies {
		switch x := &r.Strategies[i]; {
		case errors.Is(x.Err, model.ErrNoRetry):
			return nil, noRetry(x.Policy)
		case errors.Is(x.Err, sim.ErrStuck):
			x.Note += ": want a policy that waits, or failures that take time (--timeout)"
		case err == nil:
			err = x.Err
		}
	}
	return &outage{r}, err
}

// parseBudget parses --budget; nil is none.
func parseBudget(text string) (*retry.Budget, error) {
	if text == "" {
		return nil, nil
	}
	p, err := retry.Parse("constant d=0s budget=" + text)
	if parse, ok := errors.AsType[*backoff.ParseError](err); ok {
		return nil, fmt.Errorf("--budget is %q: %s", text, parse.Reason)
	}
	b, _ := p.Budget()
	return b, err
}

func (o *outage) text(w io.Writer, width int) error {
	width = min(width, 140)
	var rows [][]string
	for _, s := range o.Strategies {
		r := s.Result
		served := axis.Time(r.End)
		if r.Served < r.Clients {
			served = fmt.Sprintf("%d of %d", r.Served, r.Clients)
		}
		rows = append(rows, []string{
			s.Name, fmt.Sprintf("%.1f", r.PerClient.Mean), strconv.FormatInt(r.PerClient.P99, 10), strconv.FormatInt(r.Peak, 10), strconv.FormatInt(r.PeakAfter, 10),
			strconv.FormatInt(r.FailuresAfter, 10), strconv.FormatInt(r.GivenUp, 10), served,
		})
	}
	lines := console.Fit(width, []string{"policy", "attempts", "p99", "peak", "peak after", "failed after", "given up", "served by"}, rows, 1)
	if len(o.Strategies) > 0 {
		r := o.Strategies[0].Result
		lines = append(lines, console.Wrap(width,
			"Attempts: per client, on average.", "p99: the 99th percentile.", "Peak: in "+axis.Time(r.Traffic.Bin)+".", "Peak after, failed after:", "since the server's return.",
			"Outage: "+axis.Time(o.Down)+";", "at best all are served by "+axis.Time(r.Best)+".")...)
	}
	const margin, barLines = 8, 3
	end := o.End()
	span := console.Span{Most: end, Width: max(width-margin, 24)}
	for _, s := range o.Strategies {
		lines = append(lines, "", s.Name+": attempts")
		if s.Note != "" {
			lines = append(lines, s.Note)
		}
		counts := columns(s.Result.Traffic.Bin, s.Result.Traffic.Attempts, end, span.Width)
		most := slices.Max(counts)
		lines = append(lines, indent(console.Bars(counts, most, barLines), margin, strconv.FormatInt(most, 10))...)
		marks := span.Marks([]time.Duration{o.Down}, func(int) rune { return '▲' })
		lines = append(lines, indent([]string{marks, span.Labels()}, margin, "")...)
	}
	return writeLines(w, lines)
}

// columns adds up bins in n columns from 0 to end.
func columns(bin time.Duration, bins []int64, end time.Duration, n int) []int64 {
	all := make([]int64, n)
	for i, count := range bins {
		all[min(int(float64(bin)*float64(i)/float64(max(end, 1))*float64(n)), n-1)] += count
	}
	return all
}

func (o *outage) figure() picture.Figure {
	const columns, height = 2, 110
	f := picture.Figure{
		Columns: min(columns, max(len(o.Strategies), 1)),
		Keys:    []picture.Key{{Name: "attempts", Color: picture.Plain}, {Name: "attempts served", Color: picture.Series(0)}},
	}
	end := o.End()
	for _, s := range o.Strategies {
		bin, attempts, served := s.Bars(end)
		highest := float64(slices.Max(append(attempts, 0)))
		bars := func(counts []int64) []picture.Bar {
			bars := make([]picture.Bar, len(counts))
			for i, c := range counts {
				bars[i] = picture.Bar{From: float64(i) * bin.Seconds(), To: min(float64(i+1)*bin.Seconds(), end.Seconds()), Height: float64(c)}
			}
			return bars
		}
		title := fmt.Sprintf("%s: all served by %s", s.Name, axis.Time(s.Result.End))
		if s.Result.Served < s.Result.Clients {
			title = fmt.Sprintf("%s: %d of %d served", s.Name, s.Result.Served, s.Result.Clients)
		}
		f.Panels = append(f.Panels, picture.Panel{
			Title: console.Shorten(title, 64), Height: height,
			X: picture.Axis{Most: end.Seconds(), Ticks: axis.Times(end, 6), Label: "time"},
			Y: picture.Axis{Most: highest, Ticks: axis.Numbers(highest, 3), Label: "in " + axis.Time(bin)},
			Marks: []picture.Mark{
				picture.Bars{Bars: bars(attempts), Color: picture.Plain}, picture.Bars{Bars: bars(served), Color: picture.Series(0)},
				picture.Rule{X: o.Down.Seconds(), Most: highest, Label: "back"},
			},
		})
	}
	return f
}

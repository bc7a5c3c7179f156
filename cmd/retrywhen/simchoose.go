package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/lab"
	"github.com/retrywhen/retrywhen/sim"
)

// chooseFlags are the flags of sim choose.
type chooseFlags struct {
	simulation
	sim.Choose
}

func newSimChoose() *cobra.Command {
	f := chooseFlags{Choose: sim.Choose{
		Clients: 1000, Capacity: 20, Runs: 5,
		Outages: []time.Duration{500 * time.Millisecond, 2 * time.Second, 5 * time.Second, 20 * time.Second, time.Minute},
	}}
	c := &cobra.Command{
		Use:   "choose [POLICY...]",
		Short: "Recommend a policy for a number of clients and a capacity",
		Long: `Choose simulates clients that fail together, in outages of several lengths, under
each of the policies. Without a policy it uses the usual ones and some that are
computed from the number of clients and the capacity. For each it writes how often
a client is refused after the server's return, when all clients are served, and
how long an operation waits that fails alone. Of the policies that meet the
targets --served and --wait it recommends the one with the fewest refusals, as
text and in Go.`,
		Example: `  retrywhen sim choose --clients 1000 --capacity 20
  retrywhen sim choose --clients 300 --capacity 50 --served 20s --wait 1s
  retrywhen sim choose --place by-ordinal --outages 5s,10m -o choose.svg`,
		RunE: func(c *cobra.Command, args []string) error {
			strategies, err := f.strategies(args, func() []model.Strategy { return nil })
			if err == nil {
				err = refuseWords(strategies, "budget", "layers", "processes")
			}
			if err == nil && f.place != "" {
				err = f.Placement.UnmarshalText([]byte(f.place))
			}
			if err != nil {
				return fmt.Errorf("choose: %w", err)
			}
			return f.run(c, func(ctx context.Context, progress model.Progress) (report, error) {
				choose := f.Choose
				choose.Seed = f.seed
				r, err := model.Choose{Strategies: strategies, Choose: choose, Progress: progress}.Run(ctx)
				if r == nil {
					return report{}, err
				}
				x := &choice{r, choose}
				return report{
					text: x.text, json: x.json(), figure: x.figure,
					page: func(w io.Writer) error {
						state := lab.Default()
						state.Tab, state.Seed = lab.TabChoose, f.seed
						state.Affected, state.Capacity = min(f.Clients, lab.MaxAffected), min(f.Capacity, lab.MaxCapacity)
						state.Outages, state.Served, state.Wait = f.Outages, min(f.Served, lab.MaxDown), min(f.Wait, lab.MaxDown)
						return lab.WritePage(c.Context(), w, state)
					},
				}, err
			})
		},
	}
	f.output.flags(c)
	seedFlag(c, &f.seed)
	placeFlag(c, &f.place)
	c.Flags().IntVarP(&f.Clients, "clients", "c", f.Clients, "number of clients that fail together")
	c.Flags().IntVar(&f.Capacity, "capacity", f.Capacity, "capacity per second: the clients that the server serves after its return")
	c.Flags().DurationSliceVar(&f.Outages, "outages", f.Outages, "lengths of the outages")
	c.Flags().DurationVar(&f.Served, "served", 0, "target: all clients are served within this time of the server's return (default: none)")
	c.Flags().DurationVar(&f.Wait, "wait", 0, "target: 99 % of the operations that fail alone wait no longer (default: none)")
	c.Flags().BoolVar(&f.Slots, "slots", false, "a refused client receives the next free slot as Retry-After")
	c.Flags().IntVar(&f.Runs, "runs", f.Runs, "number of runs of each outage")
	c.ValidArgsFunction = completePolicy
	return c
}

// choice is a result of sim choose.
type choice struct {
	*model.Choices
	of sim.Choose
}

// recommendation is the recommended policy, as text and in Go.
type recommendation struct {
	Text string `json:"text"`
	Go   string `json:"go"`
}

func (x *choice) recommended() *recommendation {
	if x.Result.Recommended < 0 {
		return nil
	}
	s := x.Strategies[x.Result.Recommended]
	return &recommendation{s.Policy.String(), gocode.Policy(s.Policy, s.Placement)}
}

func (x *choice) json() any {
	return struct {
		*sim.Choices
		Policy *recommendation `json:"policy"`
	}{x.Result, x.recommended()}
}

func (x *choice) text(w io.Writer, width int) error {
	width = min(width, 140)
	header := []string{"policy", "first wait", "p99", "refusals"}
	for _, d := range x.of.Outages {
		header = append(header, "down "+axis.Time(d))
	}
	var rows [][]string
	for i, c := range x.Result.Choices {
		mark := "  "
		switch {
		case i == x.Result.Recommended:
			mark = "▶ "
		case !c.Meets:
			mark = "✗ "
		}
		row := []string{mark + c.Name, axis.Time(c.FirstWait.P50), axis.Time(c.FirstWait.P99), fmt.Sprintf("%.1f", c.Refusals)}
		for _, o := range c.Outages {
			after := axis.Time(o.After.P50)
			if o.Unserved > 0 {
				after = "never"
			}
			row = append(row, after)
		}
		rows = append(rows, row)
	}
	lines := console.Fit(width, header, rows, 1)
	best := time.Duration((x.of.Clients-1)/x.of.Capacity) * time.Second
	notes := fmt.Sprintf("Clients: %d. Capacity per second: %d. First wait: the median for an operation that fails alone. Refusals: per client after "+
		"the server's return, all outages together. Down: the time from the server's return until all are served, the median of %d runs; at best %s.",
		x.of.Clients, x.of.Capacity, x.of.Runs, axis.Time(best))
	lines = append(lines, console.Wrap(width, strings.Fields(notes)...)...)
	lines = append(lines, "")
	if r := x.recommended(); r != nil {
		lines = append(lines, r.Text, r.Go)
	} else if len(x.Result.Choices) > 0 {
		lines = append(lines, console.Wrap(width, strings.Fields("No policy meets the targets (✗). One may with more capacity, or with slots.")...)...)
	}
	return writeLines(w, lines)
}

// figure returns the costs of the policies against the length of the outage.
func (x *choice) figure() picture.Figure {
	const height = 240
	f := picture.Figure{Columns: 2}
	if r := x.recommended(); r != nil {
		f.Note = "recommended: " + r.Text
	}
	labels := make([]axis.Tick, len(x.of.Outages))
	for i, d := range x.of.Outages {
		labels[i] = axis.Tick{At: float64(i), Label: axis.Time(d)}
	}
	x0 := picture.Axis{Most: max(float64(len(labels)-1), 1), Ticks: labels, Label: "length of the outage"}
	after := picture.Panel{Title: "time from the server's return until all are served", Height: height, X: x0}
	refused := picture.Panel{Title: "refusals per client", Height: height, X: x0}
	best := float64((x.of.Clients - 1) / x.of.Capacity)
	most, mostRefused := best, 1.0
	for i, c := range x.Result.Choices {
		color := picture.Series(i)
		f.Keys = append(f.Keys, picture.Key{Name: console.Shorten(c.Name, 64), Color: color})
		width := 1.5
		if i == x.Result.Recommended {
			width = 3
		}
		var ends, refusals []picture.Point
		for j, o := range c.Outages {
			end, n := o.After.P50.Seconds(), o.Refusals.Mean/float64(x.of.Clients)
			if o.Unserved > 0 {
				end = math.NaN()
			}
			most, mostRefused = max(most, o.After.P50.Seconds()), max(mostRefused, n)
			ends = append(ends, picture.Point{X: map[bool]float64{true: math.NaN(), false: float64(j)}[math.IsNaN(end)], Y: end})
			refusals = append(refusals, picture.Point{X: float64(j), Y: n})
		}
		after.Marks = append(after.Marks, picture.Line{Points: ends, Color: color, Width: width})
		refused.Marks = append(refused.Marks, picture.Line{Points: refusals, Color: color, Width: width})
	}
	end := time.Duration(most * float64(time.Second))
	after.Y = picture.Axis{Most: most * 1.05, Ticks: axis.Times(end, 4)}
	refused.Y = picture.Axis{Most: mostRefused * 1.05, Ticks: axis.Numbers(mostRefused, 4)}
	f.Panels = []picture.Panel{after, refused}
	return f
}

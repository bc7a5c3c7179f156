package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/guptarohit/asciigraph"
	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/lab"
	"github.com/retrywhen/retrywhen/sim"
)

// occFlags are the flags of sim occ.
type occFlags struct {
	simulation
	clients, points, runs int
	mean, sd              time.Duration
	each                  bool
}

func newSimOCC() *cobra.Command {
	var f occFlags
	c := &cobra.Command{
		Use:   "occ [POLICY...]",
		Short: "Simulate clients that contend for one row: how many calls, how long?",
		Long: `Occ simulates clients that each write the same row once (optimistic concurrency
control). A client reads, then writes. Its write fails if another client has
written in between. Then the client waits and reads again. A message takes
|normal(10, 2)| ms.

Occ writes the number of write calls, and the time until all have written, against
the number of clients. These are the two figures of "Exponential Backoff And
Jitter" (AWS Architecture Blog, 2015). Without a policy it uses the five strategies
of that article. Charts of the calls over time follow.`,
		Example: `  retrywhen sim occ
  retrywhen sim occ --runs 1000 --clients 100 --points 1
  retrywhen sim occ "full: exponential base=10ms factor=2 cap=2s jitter=full" -o occ.svg`,
		RunE: func(c *cobra.Command, args []string) error {
			strategies, err := f.strategies(args, func() []model.Strategy { return lab.Presets()[2].State.Strategies })
			if err == nil {
				err = refuseWords(strategies, "budget", "layers", "processes")
			}
			switch {
			case err != nil:
				return fmt.Errorf("occ: %w", err)
			case f.clients < 1 || f.clients > 10_000_000:
				return fmt.Errorf("occ: --clients is %d, want 1 to 10000000", f.clients)
			case f.points < 1 || f.points > 1000:
				return fmt.Errorf("occ: --points is %d, want 1 to 1000", f.points)
			}
			return f.run(c, func(ctx context.Context, progress model.Progress) (report, error) {
				o, err := f.compute(ctx, strategies, progress)
				if o == nil {
					return report{}, err
				}
				return report{
					text: o.text, json: o.json(f.each), figure: o.figure,
					page: func(w io.Writer) error {
						state := lab.Presets()[2].State
						state.Strategies, state.Seed = strategies, f.seed
						state.Clients, state.Runs = min(f.clients, lab.MaxClients), min(f.runs, lab.MaxRuns)
						return lab.WritePage(c.Context(), w, state)
					},
				}, err
			})
		},
	}
	f.flags(c)
	c.Flags().IntVarP(&f.clients, "clients", "c", 100, "largest number of clients")
	c.Flags().IntVar(&f.points, "points", 10, "number of points, evenly spaced up to --clients")
	c.Flags().IntVar(&f.runs, "runs", 100, "number of runs of which each point is the mean")
	c.Flags().BoolVar(&f.each, "each", false, "JSON has the time of each call of one run with the most clients")
	c.Flags().DurationVar(&f.mean, "network", sim.DefaultNetwork.Mean, "mean time of a message")
	c.Flags().DurationVar(&f.sd, "network-sd", sim.DefaultNetwork.SD, "standard deviation of the time of a message")
	return c
}

// occ is a result of sim occ.
type occ struct {
	Runs    int              `json:"runs"`
	Clients []int            `json:"clients"`
	Points  []sim.SweepPoint `json:"points"`
	Calls   []occCalls       `json:"calls"`
	lines   []model.ContentionStrategyResult
}

// occCalls holds the times of the write calls in one run with the most clients.
type occCalls struct {
	Strategy string          `json:"strategy"`
	Clients  int             `json:"clients"`
	Times    []time.Duration `json:"times,omitempty"`
}

func (f *occFlags) compute(ctx context.Context, strategies []model.Strategy, progress model.Progress) (*occ, error) {
	contention := model.Contention{
		Strategies: strategies, Clients: f.clients, Points: f.points, Runs: f.runs, Network: sim.Network{Mean: f.mean, SD: f.sd},
		Seed: f.seed, Horizon: f.horizon, Progress: progress,
	}
	r, err := contention.Run(ctx)
	if r == nil {
		return nil, err
	}
	o := &occ{Runs: r.Runs, Clients: r.Clients, Points: []sim.SweepPoint{}, Calls: []occCalls{}, lines: r.Strategies}
	for _, x := range r.Strategies {
		o.Points = append(o.Points, x.Points...)
		if err == nil {
			err = x.Err
		}
	}
	if err != nil {
		return o, err
	}
	for _, x := range r.Strategies {
		times, err := contention.Calls(ctx, x.Policy)
		if err != nil {
			return o, err
		}
		o.Calls = append(o.Calls, occCalls{x.Name, f.clients, times})
	}
	return o, nil
}

// json returns the value for JSON, with the time of each call if each is set.
func (o *occ) json(each bool) any {
	if each {
		return o
	}
	short := *o
	short.Calls = slices.Clone(o.Calls)
	for i := range short.Calls {
		short.Calls[i].Times = nil
	}
	return short
}

func calls(p sim.SweepPoint) float64     { return p.Calls.Mean }
func totalTime(p sim.SweepPoint) float64 { return p.End.Mean.Seconds() }

func (o *occ) text(w io.Writer, width int) error {
	width = min(width, 140)
	if len(o.Points) == 0 {
		return writeLines(w, []string{"no points: the run stopped before one was computed"})
	}
	lines := []string{fmt.Sprintf("Write calls, mean / p99 of %d runs", o.Runs)}
	lines = append(lines, o.table(width, func(p sim.SweepPoint) string {
		return fmt.Sprintf("%.0f ±%.0f / %d", p.Calls.Mean, p.Calls.Confidence(), p.Calls.P99)
	})...)
	lines = append(lines, "", "Time until all have written, mean / p99")
	lines = append(lines, o.table(width, func(p sim.SweepPoint) string { return axis.Time(p.End.Mean) + " / " + axis.Time(p.End.P99) })...)
	if len(o.Points) == len(o.Clients)*len(o.lines) && len(o.Clients) > 1 {
		number := func(x float64) string { return axis.Number(x) }
		lines = append(lines, "", "Write calls against clients")
		lines = append(lines, o.graph(calls, number, width)...)
		lines = append(lines, "", "Time against clients")
		lines = append(lines, o.graph(totalTime, func(x float64) string { return axis.Time(time.Duration(x * float64(time.Second))) }, width)...)
	}
	if len(o.Calls) > 0 && o.Calls[0].Clients > 1 {
		const margin, barLines = 8, 2
		columns := max(width-margin, 24)
		lines = append(lines, "", fmt.Sprintf("Write calls over time, %d clients", o.Calls[0].Clients))
		for _, c := range o.Calls {
			counts, most := bins(c.Times, c.end()/time.Duration(columns)+1)
			lines = append(lines, c.Strategy)
			lines = append(lines, indent(console.Bars(counts, most, barLines), margin, strconv.FormatInt(most, 10))...)
			lines = append(lines, indent([]string{console.Span{Most: c.end(), Width: columns}.Labels()}, margin, "")...)
		}
	}
	return writeLines(w, lines)
}

func (o *occ) table(width int, cell func(sim.SweepPoint) string) []string {
	header := []string{"clients"}
	rows := make([][]string, len(o.Clients))
	for i, n := range o.Clients {
		rows[i] = []string{strconv.Itoa(n)}
	}
	for _, x := range o.lines {
		header = append(header, console.Shorten(x.Name, 24))
		for i := range rows {
			text := "-"
			if i < len(x.Points) {
				text = cell(x.Points[i])
			}
			rows[i] = append(rows[i], text)
		}
	}
	return console.Fit(width, header, rows, 0)
}

// graph returns a chart with a line for each strategy.
func (o *occ) graph(value func(sim.SweepPoint) float64, label func(float64) string, width int) []string {
	const height, margin = 10, 12
	lines := make([][]float64, len(o.lines))
	sets := make([]asciigraph.CharSet, len(o.lines))
	legend := make([]string, len(o.lines))
	for i, x := range o.lines {
		for _, p := range x.Points {
			lines[i] = append(lines[i], value(p))
		}
		sets[i] = asciigraph.CreateCharSet(string(rune('a' + i)))
		legend[i] = fmt.Sprintf("  %c %s", 'a'+i, x.Name)
	}
	text := asciigraph.PlotMany(lines,
		asciigraph.Height(height), asciigraph.Width(max(width-margin, 20)), asciigraph.LowerBound(0), asciigraph.SeriesChars(sets...),
		asciigraph.YAxisValueFormatter(label),
		asciigraph.XAxisRange(float64(o.Clients[0]), float64(o.Clients[len(o.Clients)-1])),
		asciigraph.XAxisValueFormatter(func(x float64) string { return strconv.Itoa(int(math.Round(x))) }),
	)
	return append(strings.Split(text, "\n"), console.Wrap(width, legend...)...)
}

func (c occCalls) end() time.Duration {
	if len(c.Times) == 0 {
		return 0
	}
	return c.Times[len(c.Times)-1]
}

// bins counts sorted times in bins.
func bins(times []time.Duration, bin time.Duration) (counts []int64, most int64) {
	for _, t := range times {
		i := int(t / bin)
		for len(counts) <= i {
			counts = append(counts, 0)
		}
		counts[i]++
		most = max(most, counts[i])
	}
	return counts, most
}

func (o *occ) figure() picture.Figure {
	f := picture.Figure{Columns: 2, Note: fmt.Sprintf("Means of %d runs. A message takes |normal(10, 2)| ms, unless flags change that.", o.Runs)}
	var mostCalls, mostTime float64
	for _, p := range o.Points {
		mostCalls, mostTime = max(mostCalls, calls(p)), max(mostTime, totalTime(p))
	}
	last := float64(o.Clients[len(o.Clients)-1])
	x := picture.Axis{Label: "clients", Most: last * 1.02, Ticks: axis.Numbers(last, 5)}
	left := picture.Panel{Title: "write calls", X: x, Y: picture.Axis{Most: mostCalls * 1.02, Ticks: axis.Numbers(mostCalls, 5)}, Height: 260}
	right := picture.Panel{
		Title: "time until all have written", X: x, Height: 260,
		Y: picture.Axis{Most: mostTime * 1.02, Ticks: axis.Times(time.Duration(mostTime*float64(time.Second)), 6)},
	}
	for i, x := range o.lines {
		f.Keys = append(f.Keys, picture.Key{Name: x.Name, Color: picture.Series(i)})
		for _, part := range []struct {
			panel *picture.Panel
			value func(sim.SweepPoint) float64
		}{{&left, calls}, {&right, totalTime}} {
			points := make([]picture.Point, len(x.Points))
			for j, p := range x.Points {
				points[j] = picture.Point{X: float64(p.Clients), Y: part.value(p)}
			}
			part.panel.Marks = append(part.panel.Marks,
				picture.Line{Points: points, Color: picture.Series(i), Width: 1.8}, picture.Dots{Points: points, Color: picture.Series(i), Radius: 2.6})
		}
	}
	f.Panels = []picture.Panel{left, right}
	for i, c := range o.Calls {
		bin := model.ChartBin(c.end())
		counts, peak := bins(c.Times, bin)
		bars := make([]picture.Bar, len(counts))
		for j, n := range counts {
			bars[j] = picture.Bar{From: float64(j) * bin.Seconds(), To: float64(j+1) * bin.Seconds(), Height: float64(n)}
		}
		f.Panels = append(f.Panels, picture.Panel{
			Title: fmt.Sprintf("%s: write calls in %s, %d clients", console.Shorten(c.Strategy, 40), axis.Time(bin), c.Clients), Height: 80,
			X:     picture.Axis{Most: c.end().Seconds() * 1.01, Ticks: axis.Times(c.end(), 6)},
			Y:     picture.Axis{Most: float64(peak), Ticks: axis.Numbers(float64(peak), 2)},
			Marks: []picture.Mark{picture.Bars{Bars: bars, Color: picture.Series(i)}},
		})
	}
	return f
}

package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/model"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/schedule"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/lab"
)

func newShow() *cobra.Command {
	var (
		out     output
		retries int
	)
	c := &cobra.Command{
		Use:   "show POLICY...",
		Short: "Show the schedule of a policy",
		Long: `Show writes the schedule of one or more policies: for each retry the shortest,
the median and the longest wait before it, and the sum of the medians so far. The
bars have the same scale for all policies.

A policy is one quoted text. It begins with one of these curves:

  constant d=1s                      1s forever
  linear d=1s                        1s 2s 3s 4s
  quadratic d=1s                     1s 4s 9s 16s
  polynomial d=1s degree=1.5         d·n^degree
  exponential base=100ms factor=2    100ms 200ms 400ms
  fibonacci d=1s                     1s 1s 2s 3s 5s
  table delays=10ms,100ms,1s         these, then the last one forever
  sidekiq                            k⁴ + 15 + rand·30·(k+1) s
  buckets unit=1s exponent=3         between k³ and (k+2)³ s
  decorrelated base=100ms            between base and 3·the previous wait

Any of these options may follow:

  plus=1s  cap=30s  jitter=none|default|full|equal|deviation:0.3|uniform:0.5:1.5
  tiled  key=42  ordinal=3  limit=5  within=1m  stopat=10s  attempttimeout=2s
  resetafter=30s  resetafteritems=1  maxretryafter=1h

A name and a colon may come before the curve: "mine: linear d=1s".`,
		Example: `  retrywhen show "exponential base=100ms factor=2 cap=30s jitter=full"
  retrywhen show "linear d=1s tiled" "sidekiq limit=5" -o chart.svg
  retrywhen show "mine: constant d=5s" "theirs: fibonacci d=1s" --json`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("show: %w", model.ErrNoStrategy)
			}
			return nil
		},
		ValidArgsFunction: completePolicy,
		RunE: func(c *cobra.Command, args []string) error {
			strategies, err := model.ParseStrategies(args)
			if err != nil {
				return fmt.Errorf("show: %w", err)
			}
			if retries < 1 || retries > schedule.MaxRows {
				return fmt.Errorf("show: --retries is %d, want 1 to %d", retries, schedule.MaxRows)
			}
			if err := out.check(); err != nil {
				return fmt.Errorf("show: %w", err)
			}
			s := make(schedules, len(strategies))
			for i, st := range strategies {
				s[i] = namedSchedule{st.Title(), schedule.Of(st.Policy, retries)}
			}
			return out.write(c, report{
				text: s.text, json: s, figure: s.figure,
				page: func(w io.Writer) error {
					state := lab.Default()
					state.Tab, state.Strategies = lab.TabHerd, strategies
					state.Retries = min(max(s.rows(), 1), lab.MaxRetries)
					return lab.WritePage(c.Context(), w, state)
				},
			})
		},
	}
	out.flags(c)
	c.Flags().IntVarP(&retries, "retries", "n", 10, "number of retries to show")
	return c
}

type namedSchedule struct {
	Name string `json:"name"`
	schedule.Schedule
}

type schedules []namedSchedule

// rows returns the number of rows of the longest schedule.
func (s schedules) rows() int {
	most := 0
	for _, x := range s {
		most = max(most, len(x.Rows))
	}
	return most
}

// longest returns the longest wait of all schedules, and the latest retry at median waits.
func (s schedules) longest() (wait, end time.Duration) {
	for _, x := range s {
		for _, r := range x.Rows {
			wait, end = max(wait, r.Most), max(end, r.Cumulative)
		}
	}
	return wait, end
}

func (s schedules) text(w io.Writer, width int) error {
	wait, end := s.longest()
	var lines []string
	for _, x := range s {
		if x.Name != x.Policy {
			lines = append(lines, x.Name+": "+x.Policy)
		} else {
			lines = append(lines, x.Policy)
		}
		if len(x.Rows) > 0 {
			lines = append(lines, x.table(width, wait)...)
		}
		if x.End != "" {
			lines = append(lines, "then it gives up: "+x.End)
		}
		lines = append(lines, "")
	}
	if len(s) > 1 && end > 0 {
		lines = append(lines, s.timeline(width, end)...)
	}
	return writeLines(w, lines[:len(lines)-1])
}

// leastChart is the minimum width of a chart.
const leastChart = 24

// table returns the waits of a schedule, with a chart from 0 to most if there is room.
func (x namedSchedule) table(width int, most time.Duration) []string {
	const tableWidth = 46
	span := console.Span{Most: most, Width: min(width, 140) - tableWidth}
	header := []string{" n", " least", "median", "  most", "cumulative"}
	if width < tableWidth {
		header[4] = "   sum"
	}
	rows := make([][]string, len(x.Rows))
	for i, r := range x.Rows {
		rows[i] = []string{strconv.Itoa(r.N), axis.Time(r.Least), axis.Time(r.Median), axis.Time(r.Most), axis.Time(r.Cumulative)}
	}
	table := console.Table(header, rows, 0)
	if span.Width < leastChart {
		return table
	}
	chart := make([]string, 1, len(x.Rows)+2)
	for _, r := range x.Rows {
		chart = append(chart, span.Range(r.Least, r.Median, r.Most))
	}
	return console.Columns(3, table, append(chart, span.Labels()))
}

// timeline returns a line for each schedule with the times of its retries, up to end.
func (s schedules) timeline(width int, end time.Duration) []string {
	names := make([]string, len(s))
	for i, x := range s {
		names[i] = x.Name
	}
	column := min(console.Width(names), max(width/3, 12))
	span := console.Span{Most: end, Width: max(min(width, 140)-column-2, leastChart)}
	lines := []string{"When the retries come, at median waits:"}
	for i, x := range s {
		at := make([]time.Duration, len(x.Rows))
		for k, r := range x.Rows {
			at[k] = r.Cumulative
		}
		lines = append(lines, console.Pad(console.Shorten(names[i], column), column+2)+span.Marks(at, func(k int) rune { return rune('0' + (k+1)%10) }))
	}
	return append(lines, console.Pad("", column+2)+span.Labels(), "")
}

func (s schedules) figure() picture.Figure {
	wait, end := s.longest()
	waits := picture.Panel{
		Title: "the wait before each retry: median, and shortest to longest",
		X:     picture.Axis{Label: "retry", Most: float64(s.rows()) + 0.5, Ticks: axis.Numbers(float64(s.rows()), 12)[1:]},
		Y:     picture.Axis{Most: wait.Seconds() * 1.02, Ticks: axis.Times(wait, 6)},
	}
	comes := picture.Panel{
		Title:  "when the retries come, at median waits",
		X:      picture.Axis{Label: "time since the first failure", Most: end.Seconds() * 1.02, Ticks: axis.Times(end, 9)},
		Y:      picture.Axis{Most: float64(len(s))},
		Height: 28 * float64(len(s)),
	}
	f := picture.Figure{Columns: 1, Width: 760}
	for i, x := range s {
		f.Keys = append(f.Keys, picture.Key{Name: x.Name, Color: picture.Series(i)})
		var low, high, middle, at []picture.Point
		lane := float64(len(s)-i) - 0.5
		for _, r := range x.Rows {
			n := float64(r.N)
			low = append(low, picture.Point{X: n, Y: r.Least.Seconds()})
			high = append(high, picture.Point{X: n, Y: r.Most.Seconds()})
			middle = append(middle, picture.Point{X: n, Y: r.Median.Seconds()})
			at = append(at, picture.Point{X: r.Cumulative.Seconds(), Y: lane})
		}
		waits.Marks = append(waits.Marks,
			picture.Band{Low: low, High: high, Color: picture.Series(i)},
			picture.Line{Points: middle, Color: picture.Series(i), Width: 1.6},
			picture.Dots{Points: middle, Color: picture.Series(i), Radius: 3})
		comes.Marks = append(comes.Marks,
			picture.Line{Points: []picture.Point{{X: 0, Y: lane}, {X: end.Seconds(), Y: lane}}, Color: picture.Faint, Width: 1},
			picture.Dots{Points: at, Color: picture.Series(i), Radius: 4})
	}
	f.Panels = []picture.Panel{waits, comes}
	return f
}

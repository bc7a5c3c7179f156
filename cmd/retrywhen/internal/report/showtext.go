package report

import (
	"slices"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
)

// rows returns the number of rows of the longest schedule.
func (s *Schedules) rows() int {
	most := 0
	for _, x := range s.all {
		most = max(most, len(x.Rows))
	}
	return most
}

// longest returns the longest wait of all schedules, and the latest retry at median waits.
func (s *Schedules) longest() (wait, end time.Duration) {
	for _, x := range s.all {
		for _, r := range x.Rows {
			wait, end = max(wait, r.Most), max(end, r.Cumulative)
		}
	}
	return wait, end
}

// Text returns a table and a chart of the waits of each strategy.
func (s *Schedules) Text(width int) []string {
	wait, end := s.longest()
	var lines []string
	for _, x := range s.all {
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
	if len(s.all) > 1 && end > 0 {
		lines = append(lines, s.timeline(width, end)...)
	}
	return lines[:len(lines)-1]
}

// scheduleHeader is the header of the cells.
var scheduleHeader = []string{" n", " least", "median", "  most", "cumulative"}

// cells returns the rows as texts.
func (x *Schedule) cells() [][]string {
	rows := make([][]string, len(x.Rows))
	for i, r := range x.Rows {
		rows[i] = []string{strconv.Itoa(r.N), axis.Time(r.Least), axis.Time(r.Median), axis.Time(r.Most), axis.Time(r.Cumulative)}
	}
	return rows
}

// table returns the waits of a schedule, with a chart from 0 to most if there is room.
func (x *Schedule) table(width int, most time.Duration) []string {
	const tableWidth = 46
	span := console.Span{Most: most, Width: min(width, maxWidth) - tableWidth}
	header := slices.Clone(scheduleHeader)
	if width < tableWidth {
		header[4] = "   sum"
	}
	table := console.Table(header, x.cells(), 0)
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
func (s *Schedules) timeline(width int, end time.Duration) []string {
	names := make([]string, len(s.all))
	for i, x := range s.all {
		names[i] = x.Name
	}
	column := min(console.Width(names), max(width/3, 12))
	span := console.Span{Most: end, Width: max(min(width, maxWidth)-column-2, leastChart)}
	lines := []string{"When the retries come, at median waits:"}
	for i, x := range s.all {
		at := make([]time.Duration, len(x.Rows))
		for k, r := range x.Rows {
			at[k] = r.Cumulative
		}
		lines = append(lines, console.Pad(console.Shorten(names[i], column), column+2)+span.Marks(at, func(k int) rune { return rune('0' + (k+1)%10) }))
	}
	return append(lines, console.Pad("", column+2)+span.Labels(), "")
}

// Figure returns the waits, and when the retries come.
func (s *Schedules) Figure() picture.Figure {
	wait, end := s.longest()
	waits := picture.Panel{
		Title: "the wait before each retry: median, and shortest to longest",
		X:     picture.Axis{Label: "retry", Most: float64(s.rows()) + 0.5, Ticks: axis.Numbers(float64(s.rows()), 12)[1:]},
		Y:     picture.Axis{Most: wait.Seconds() * 1.02, Ticks: axis.Times(wait, 6)},
	}
	comes := picture.Panel{
		Title:  "when the retries come, at median waits",
		X:      picture.Axis{Label: "time since the first failure", Most: end.Seconds() * 1.02, Ticks: axis.Times(end, 9)},
		Y:      picture.Axis{Most: float64(len(s.all))},
		Height: 28 * float64(len(s.all)),
	}
	f := picture.Figure{Columns: 1, Width: 760}
	for i, x := range s.all {
		var low, high, middle, at []picture.Point
		lane := float64(len(s.all)-i) - 0.5
		for _, r := range x.Rows {
			n := float64(r.N)
			low = append(low, picture.Point{X: n, Y: r.Least.Seconds()})
			high = append(high, picture.Point{X: n, Y: r.Most.Seconds()})
			middle = append(middle, picture.Point{X: n, Y: r.Median.Seconds()})
			at = append(at, picture.Point{X: r.Cumulative.Seconds(), Y: lane})
		}
		waits.Marks = append(waits.Marks,
			picture.Band{Low: low, High: high, Color: picture.Series(i)})
		waits.Series(i, x.Name, 1.8, middle)
		comes.Labels = append(comes.Labels, picture.Label{End: picture.Point{X: end.Seconds(), Y: lane}, Text: x.Name, Color: picture.Series(i)})
		comes.Marks = append(comes.Marks,
			picture.Line{Points: []picture.Point{{X: 0, Y: lane}, {X: end.Seconds(), Y: lane}}, Color: picture.Faint, Width: 1},
			picture.Dots{Points: at, Color: picture.Series(i), Radius: 4})
	}
	f.Panels = []picture.Panel{waits, comes}
	return f
}

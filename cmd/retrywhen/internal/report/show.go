package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/sim"
)

// MaxRows is the maximum number of rows of a schedule.
const MaxRows = 10_000

// Row is one retry.
type Row struct {
	N          int           `json:"n"` // from 1
	Least      time.Duration `json:"least"`
	Median     time.Duration `json:"median"`
	Most       time.Duration `json:"most"`
	Cumulative time.Duration `json:"cumulative"` // the sum of the medians so far
}

// Show is the schedules of strategies.
type Show struct {
	Strategies []Strategy
	Retries    int // 1 to MaxRows
}

// Schedule is the range of each wait of a policy.
type Schedule struct {
	Name   string `json:"name"`
	Policy string `json:"policy"`
	Rows   []Row  `json:"rows"`
	// End is why the policy gives up after the last row, even with the shortest waits, "" if it need not.
	End string `json:"end,omitempty"`
	// Go is the Go code of the policy.
	Go string `json:"go"`
}

// Schedules is the result of a Show.
type Schedules struct {
	all []Schedule
	of  Show
	compared
}

// Run computes the schedules.
func (x Show) Run() *Schedules {
	s := &Schedules{of: x, compared: compared{strategies: x.Strategies}}
	for _, st := range x.Strategies {
		s.all = append(s.all, scheduleOf(st, x.Retries))
	}
	return s
}

// JSON returns the schedules.
func (s *Schedules) JSON() any { return s.all }

// Page returns the picture and the rows.
func (s *Schedules) Page() any {
	p := newPicturePage(s.Figure(), "The schedule of each policy: the shortest, the median and the longest wait before each retry.")
	for i, x := range s.all {
		p.Tables = append(p.Tables, pageTable{x.Name, InWords(s.of.Strategies[i]), scheduleHeader, x.cells()})
	}
	return p
}

// scheduleOf returns the first rows of the strategy's schedule: fewer if its policy gives up before.
func scheduleOf(x Strategy, rows int) Schedule {
	p := x.Policy
	b := p.Backoff()
	s := Schedule{Name: x.Title(), Policy: p.String(), Go: gocode.Policy("policy", p, sim.OneProcess), Rows: []Row{}}
	limit := rows
	if n, ok := p.Limit(); ok && n <= rows {
		limit = n
		s.End = fmt.Sprintf("the limit of %d retries is reached", n)
		if n == 1 {
			s.End = "the limit of 1 retry is reached"
		}
	}
	within, bounded := p.Within()
	stopAt, stops := p.StopAt()
	var earliest time.Duration
	next := rowsOf(b)
	for n := 1; n <= limit; n++ {
		if stops && b.Ceiling(n) >= stopAt {
			s.End = fmt.Sprintf("the backoff would be %v, and it stops at %v", b.Ceiling(n), stopAt)
			break
		}
		row := next(n)
		earliest = add(earliest, row.Least)
		if bounded && earliest > within {
			s.End = fmt.Sprintf("the next retry would be later than %v after the first failure, even with the shortest waits", within)
			break
		}
		if n > 1 {
			row.Cumulative = s.Rows[n-2].Cumulative
		}
		row.Cumulative = add(row.Cumulative, row.Median)
		s.Rows = append(s.Rows, row)
	}
	return s
}

// largest is the largest draw.
const largest = 1 - 0x1p-53

// rowsOf returns the function that computes the rows. It must be called for 1, 2, 3 … in turn. A delay does not
// decrease as its draw increases, so the draws 0, 0.5 and largest give the least, the median and the most. Decorrelated
// derives many draws from one: its least and most are those of chains with the smallest and the largest draws, and its
// median is that of a sample.
func rowsOf(b backoff.Backoff) func(n int) Row {
	if b.Words()[0].Name != "decorrelated" {
		return func(n int) Row {
			return Row{N: n, Least: b.At(n, 0), Median: b.At(n, 0.5), Most: b.At(n, largest)}
		}
	}
	const draws = 1001
	var least, most time.Duration
	sample := make([]time.Duration, draws)
	fixed := b.At(1, 0) == b.At(1, largest) // because of a key, or of a cap that is at most the base
	return func(n int) Row {
		if fixed {
			d := b.At(n, 0)
			return Row{N: n, Least: d, Median: d, Most: d}
		}
		least, most = b.After(n, least, 0), b.After(n, most, largest)
		for i := range sample {
			sample[i] = b.At(n, (float64(i)+0.5)/draws)
		}
		slices.Sort(sample)
		return Row{N: n, Least: least, Median: sample[draws/2], Most: most}
	}
}

func add(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

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
	wait, _ := s.longest()
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

package report

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/gocode"
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
	// End is why the policy gives up after the last row, "" if it does not.
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
	draw := drawer(b)
	for n := 1; n <= limit; n++ {
		if stops && b.Ceiling(n) >= stopAt {
			s.End = fmt.Sprintf("the backoff would be %v, and it stops at %v", b.Ceiling(n), stopAt)
			break
		}
		row := draw(n)
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

// drawer returns the function that computes the rows. It must be called for 1, 2, 3 … in turn. A delay does not
// decrease as its draw increases, so the draws 0, 0.5 and largest give the least, the median and the most. Decorrelated
// derives many draws from one: its least and most are those of chains with the smallest and the largest draws, and its
// median is that of a sample.
func drawer(b backoff.Backoff) func(n int) Row {
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

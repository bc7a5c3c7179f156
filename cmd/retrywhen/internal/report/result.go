package report

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/picture"
	"github.com/retrywhen/retrywhen/sim"
)

// Result is the result of a simulation, or of a part of it. All its forms have the same numbers.
type Result interface {
	Text(width int) []string // lines of at most width characters, if that is not too narrow
	Figure() picture.Figure
	JSON() any            // for encoding/json
	Compared() []Strategy // in the order of the result, with the attempt timeouts that they had
	Incomplete() error    // why a part is missing; nil if nothing is
}

// Paged is a Result with a page.
type Paged interface {
	Result
	Page() any // the numbers of the page's tab, for encoding/json
}

// compared is the part of a Result about its strategies.
type compared struct {
	strategies []Strategy
	stopped    error // the first *sim.StoppedError
}

// compareTimed returns the part about strategies of which those without an attempt timeout had this one.
func compareTimed(strategies []Strategy, timeout time.Duration) compared {
	all := slices.Clone(strategies)
	for i, s := range all {
		all[i] = s.Timed(timeout)
	}
	return compared{strategies: all}
}

func (c *compared) Compared() []Strategy { return c.strategies }
func (c *compared) Incomplete() error    { return c.stopped }

// note keeps an error that stopped a strategy, and returns it as a sentence; "" if there is none.
func (c *compared) note(err error) string {
	if _, ok := errors.AsType[*sim.StoppedError](err); ok && c.stopped == nil {
		c.stopped = err
	}
	return note(err)
}

// Progress returns the function to which a simulation reports its progress. It may be nil.
type Progress func(what string) func(done, total int64)

func (p Progress) of(what string) func(done, total int64) {
	if p == nil {
		return nil
	}
	return p(what)
}

// maxWidth is the maximum width of a text.
const maxWidth = 140

// Pictures and charts of text have these limits.
const (
	columns    = 2  // panels side by side
	title      = 64 // letters of a panel's title
	textMargin = 8  // columns of text beside a chart
	leastChart = 24 // columns of text of a chart
)

// chartWidth returns the columns of a chart beside its margin.
func chartWidth(width int) int { return max(width-textMargin, leastChart) }

// rate returns the number per second for a number in a bin.
func rate(n int64, bin time.Duration) float64 { return float64(n) / bin.Seconds() }

// rates returns the rates of counts in bins.
func rates(counts []int64, bin time.Duration) []float64 {
	all := make([]float64, len(counts))
	for i, n := range counts {
		all[i] = rate(n, bin)
	}
	return all
}

// perSecond returns the rate of a number in a bin, as a text.
func perSecond(n int64, bin time.Duration) string { return axis.Number(rate(n, bin)) + "/s" }

// bars returns bars of the rates of counts in bins, up to end, and not higher than most.
func bars(counts []int64, bin, end time.Duration, most float64) []picture.Bar {
	all := make([]picture.Bar, len(counts))
	for i, n := range counts {
		from := bin * time.Duration(i)
		all[i] = picture.Bar{From: from.Seconds(), To: min(from+bin, end).Seconds(), Height: min(rate(n, bin), most)}
	}
	return all
}

// together adds up n bins each.
func together(counts []int64, n int) []int64 {
	var all []int64
	for i, c := range counts {
		if i%n == 0 {
			all = append(all, 0)
		}
		all[len(all)-1] += c
	}
	return all
}

// colorsOf returns the colors of n strategies.
func colorsOf(n int) []picture.Color {
	all := make([]picture.Color, n)
	for i := range all {
		all[i] = picture.Series(i)
	}
	return all
}

// indent puts the lines to the right of the margin, with a label at the first line.
func indent(lines []string, label string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		if i > 0 {
			label = ""
		}
		out[i] = strings.TrimRight(fmt.Sprintf("%*s %s", textMargin-1, label, l), " ")
	}
	return out
}

// limited calls run with a context that also ends after the maximum real time; 0 is no limit.
func limited[R any](ctx context.Context, most time.Duration, run func(context.Context) (R, error)) (R, error) {
	if most > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, most)
		defer cancel()
	}
	return run(ctx)
}

// note returns why a part of a strategy's result is missing, as a sentence; "" if nothing is.
func note(err error) string {
	stopped, _ := errors.AsType[*sim.StoppedError](err)
	switch {
	case err == nil:
		return ""
	case errors.Is(err, sim.ErrStuck):
		return "The clients retry endlessly at one instant: want a policy that waits, or failures that take time (an attempt timeout)."
	case errors.Is(err, sim.ErrHorizon) && (stopped.At == 0 || stopped.At > math.MaxInt64/2): // one of several runs, or the only one
		return "The sum of its waits is more than " + axis.Time(math.MaxInt64) + "."
	case errors.Is(err, sim.ErrHorizon):
		return fmt.Sprintf("More happens after %s, the simulation end.", axis.Time(stopped.At))
	}
	if stopped != nil && errors.Is(err, context.DeadlineExceeded) {
		return fmt.Sprintf("The time was over after %d of %d %s.", stopped.Done, stopped.Total, stopped.Unit)
	}
	return fmt.Sprintf("It was stopped: %v.", err)
}

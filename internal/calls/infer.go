package calls

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// Policy is what the waits of runs show.
type Policy struct {
	Text string   // as retry.Parse reads it; "" if none is known
	Or   []string // others that explain the waits as well
	Why  string   // what Text rests on and what was not seen, or why there is none
}

// curve is the form of a backoff; its first wait is the base.
type curve struct {
	format string // with the base
	of     func(n int) float64
	cost   float64 // how much less likely it is than the usual one, as all costs: in units of -log
}

// spread is a jitter: a factor, evenly distributed.
type spread struct {
	text     string
	low, top float64
	cost     float64
}

func exponential(factor, cost float64) curve {
	return curve{fmt.Sprintf("exponential base=%%s factor=%v", factor), func(n int) float64 { return math.Pow(factor, float64(n-1)) }, cost}
}

var curves = []curve{
	{"constant d=%s", func(int) float64 { return 1 }, 0},
	exponential(2, 0), exponential(1.5, 1.5), exponential(3, 2), exponential(1.6, 3), exponential(4, 3), exponential(10, 3),
	{"linear d=%s", func(n int) float64 { return float64(n) }, 2.5},
	{"quadratic d=%s", func(n int) float64 { return float64(n * n) }, 2},
	{"fibonacci d=%s", func(n int) float64 {
		a, b := 1.0, 1.0
		for range n - 1 {
			a, b = b, a+b
		}
		return a
	}, 2.5},
}

var spreads = []spread{
	{"", 1, 1, 0}, {" jitter=full", 0, 1, 0}, {" jitter=equal", 0.5, 1, 0}, {" jitter=default", 0.85, 1.15, 0},
	{" jitter=deviation:0.5", 0.5, 1.5, 1.5}, {" jitter=deviation:0.1", 0.9, 1.1, 3}, {" jitter=deviation:0.2", 0.8, 1.2, 3}, {" jitter=deviation:0.25", 0.75, 1.25, 3},
	{" jitter=deviation:0.3", 0.7, 1.3, 3}, {" jitter=uniform:0.75:1", 0.75, 1, 3}, {" jitter=uniform:0.8:1", 0.8, 1, 3}, {" jitter=uniform:1:1.1", 1, 1.1, 3},
	{" jitter=uniform:1:1.2", 1, 1.2, 3}, {" jitter=uniform:1:1.25", 1, 1.25, 3}, {" jitter=uniform:1:1.5", 1, 1.5, 3}, {" jitter=uniform:1:2", 1, 2, 3}, {" jitter=deviation:1", 0, 2, 3},
}

// mostColumns is how many waits of a run are looked at.
const mostColumns = 40

// Infer returns the policy that the waits of runs show in which the same failure goes on. awaited, which may be nil, is
// a run in which one request had no answer. virtual: waits are exact.
func Infer(runs []*Run, awaited *Run, virtual bool) Policy {
	f := fit{noise: 0.004}
	if virtual {
		f.noise = 1e-6
	}
	limit, least, most, ended, hasty := 0, math.MaxInt, 0, 0, 0
	for _, r := range runs {
		waits := r.waits()
		if len(waits) > 0 && slices.Max(waits) <= (Rules{Virtual: virtual}).hasty() {
			hasty++
		}
		least, most = min(least, len(waits)), max(most, len(waits))
		if r.Returned {
			ended++
		}
		var row []float64
		for _, d := range waits[:min(len(waits), mostColumns)] {
			row = append(row, d.Seconds())
			f.longest = max(f.longest, d)
		}
		f.rows, f.columns = append(f.rows, row), max(f.columns, len(row))
	}
	switch {
	case len(runs) == 0:
		return Policy{Why: "no run in which a failure goes on could be judged"}
	case most == 0:
		return Policy{Why: "a failure that goes on is not retried"}
	case ended == len(runs) && least == most:
		limit = most
	}
	if hasty >= min(2, len(runs)) { // a busy machine makes the waits of others longer
		f.found = []candidate{{text: "constant d=0s"}}
	} else {
		f.search()
	}
	p := Policy{Why: f.why(runs, ended, least, most)}
	if len(f.found) == 0 {
		p.Why += "; no curve explains the waits"
		return p
	}
	words := ""
	if limit > 0 {
		words += fmt.Sprintf(" limit=%d", limit)
	}
	if d := awaited.timeout(); d > 0 {
		words += " attempttimeout=" + exactly(d)
	}
	for i, c := range f.found {
		if text := c.text + words; i == 0 {
			p.Text = text
		} else if c.cost < f.found[0].cost+asWell && len(p.Or) < 3 {
			p.Or = append(p.Or, text)
		}
	}
	if f.found[0].capped == 0 {
		p.Why += "; a cap was not seen, the longest wait was " + Short(f.longest)
	}
	return p
}

// asWell is by how much another policy may be less likely that explains the waits as well.
const asWell = 3

// why says what a policy rests on.
func (f *fit) why(runs []*Run, ended, least, most int) string {
	many := judge.Count(most, "wait")
	if least < most {
		many = fmt.Sprintf("%d to %s", least, many)
	}
	text := fmt.Sprintf("%s in each of %s of %s", many, judge.Count(len(runs), "run"), runs[0].Way.Name)
	switch {
	case ended == 0:
		text += "; a limit was not seen"
	case ended < len(runs):
		text += fmt.Sprintf("; %d of them gave up", ended)
	case least < most:
		text += fmt.Sprintf("; they gave up after %d to %d retries, so no number limits them", least, most)
	}
	if most <= 2 {
		text += fmt.Sprintf("; with %s curves cannot be told apart", judge.Count(most, "wait"))
	}
	return text
}

// timeout returns how long an attempt awaited its answer, if another one followed; 0 if that was not seen.
func (r *Run) timeout() time.Duration {
	if r == nil || len(r.requests) < 2 || r.requests[0].over.IsZero() || r.requests[1].At.Before(r.requests[0].over) {
		return 0
	}
	d := r.requests[0].over.Sub(r.requests[0].At).Seconds()
	return seconds(rounded(max(d*0.98-0.02, d/2), d*1.01+0.005, d)[0])
}

// fit looks for the policies that make the waits most likely. All times are in seconds.
type fit struct {
	rows    [][]float64 // the waits of each run
	columns int
	noise   float64 // the least that waits are longer than meant
	longest time.Duration
	found   []candidate // the likeliest first
}

// candidate is a policy that may explain the waits.
type candidate struct {
	text   string
	cost   float64 // -log of its likelihood and of how usual it is
	capped float64 // 0: it has no cap
}

// search finds the likeliest candidates.
func (f *fit) search() {
	all := curves
	if c, ok := f.ratio(); ok {
		all = append(slices.Clone(all), c)
	}
	for _, c := range all {
		for _, j := range spreads {
			f.try(c, j)
		}
	}
	f.table()
	f.decorrelated()
	slices.SortStableFunc(f.found, func(a, b candidate) int { return int(math.Copysign(1, a.cost-b.cost)) })
	texts := map[string]bool{}
	f.found = slices.DeleteFunc(f.found, func(c candidate) bool {
		twice := texts[c.text]
		texts[c.text] = true
		return twice
	})
}

// column returns the n-th waits of all runs, from 1.
func (f *fit) column(n int) (all []float64) {
	for _, row := range f.rows {
		if n <= len(row) {
			all = append(all, row[n-1])
		}
	}
	return all
}

// ratio returns the exponential curve whose factor is that of the first two waits, if it is not in curves.
func (f *fit) ratio() (curve, bool) {
	if f.columns < 3 || slices.Min(f.column(1)) <= 0 {
		return curve{}, false
	}
	factor := math.Round(10*slices.Min(f.column(2))/slices.Min(f.column(1))) / 10
	return exponential(factor, 4), factor > 1 && !slices.Contains([]float64{1.5, 1.6, 2, 3, 4, 10}, factor)
}

// most returns the wait without the jitter of which all are draws, or without jitter the one that nothing has made
// longer.
func (j spread) most(waits []float64) float64 {
	if j.text == "" {
		return slices.Min(waits)
	}
	return slices.Max(waits) / j.top
}

// try adds the best candidate of a curve and a jitter.
func (f *fit) try(c curve, j spread) {
	best := candidate{cost: math.Inf(1)}
	most := 0.0 // that the first waits can be, at least
	for n := 1; n <= min(f.columns, 2); n++ {
		most = max(most, slices.Max(f.column(n))/c.of(n)/j.top)
	}
	first := j.most(f.column(1))
	if j.text == "" { // the first wait may be longer than meant: a program begins
		most = first
		for n := 2; n <= min(f.columns, 3); n++ {
			most = min(most, slices.Min(f.column(n))/c.of(n))
		}
	}
	last := f.column(f.columns)
	for n := f.columns / 2; n > 1 && n < f.columns && j.text != ""; n++ {
		last = append(last, f.column(n)...)
	}
	for _, base := range rounded(min(first, most)*0.97-f.noise, max(first, most)*1.8, first) {
		if base == 0 && (j.text != "" || c.of(2) > 1) {
			continue
		}
		caps := []float64{0}
		if top := j.most(last); f.columns > 3 && c.of(2) > 1 && top < base*c.of(f.columns-1) {
			caps = append(caps, rounded(top*0.97-f.noise, top*1.3, top)...)
		}
		for _, ceiling := range caps {
			if ceiling > 0 && j.text != "" && ceiling <= base*c.of(2) { // a curve of one wait is none
				continue
			}
			if found := f.with(c, j, base, ceiling); found.cost < best.cost {
				best = found
			}
		}
	}
	if !math.IsInf(best.cost, 1) {
		f.found = append(f.found, best)
	}
}

// with returns the candidate of a curve and a jitter with a base and a cap; 0 is none.
func (f *fit) with(c curve, j spread, base, ceiling float64) candidate {
	text, cost := fmt.Sprintf(c.format, exactly(seconds(base))), c.cost+j.cost+roundness(base)
	if ceiling > 0 {
		text += " cap=" + exactly(seconds(ceiling*max(1, j.top)))
		cost += 4 + roundness(ceiling)
	}
	cost += f.cost(func(n int) (low, top float64) {
		w := base * c.of(n)
		if ceiling > 0 {
			w = min(w, ceiling)
		}
		return w * j.low, w * j.top
	})
	return candidate{text + j.text, cost, ceiling}
}

// cost returns how unlikely the waits are if the n-th is evenly distributed between two bounds, and somewhat longer on
// a busy machine.
func (f *fit) cost(bounds func(n int) (low, top float64)) float64 {
	beyond, number, sum := 0.0, 0.0, 0.0
	for _, row := range f.rows {
		for i, x := range row {
			low, top := bounds(i + 1)
			beyond += max(0, x-top, 3*(low-x))
			number++
			if x < low*0.998-f.noise/2 { // never: timers are not early
				return math.Inf(1)
			}
			sum += x
		}
	}
	noise := max(f.noise, beyond/number)
	if beyond > sum/5 {
		return math.Inf(1)
	}
	cost := math.Log(noise/f.noise) + beyond/noise
	for _, row := range f.rows {
		for i := range row {
			low, top := bounds(i + 1)
			cost += math.Log(max(noise, top-low))
		}
	}
	return cost
}

// table adds the waits as they are, for what has no jitter and is no curve.
func (f *fit) table() {
	if f.columns > 12 {
		return
	}
	var delays []float64
	text, more := "table delays=", 0.0
	for n := 1; n <= f.columns; n++ {
		least := slices.Min(f.column(n))
		at := rounded(least*0.985-f.noise, least*1.002+f.noise/4, least)[0]
		if least <= f.noise {
			at = 0
		}
		delays = append(delays, at)
		if more += 4 + roundness(at); n > 1 {
			text += ","
		}
		text += exactly(seconds(at))
	}
	f.found = append(f.found, candidate{text, 2 + more + f.cost(func(n int) (low, top float64) { return delays[n-1], delays[n-1] }), 0})
}

// decorrelated adds the curve whose n-th wait is between the base and three times the wait before.
func (f *fit) decorrelated() {
	least := math.Inf(1)
	for _, row := range f.rows {
		least = min(least, slices.Min(append(row, least)))
	}
	for _, base := range rounded(slices.Max(f.column(1))/3*0.99, least, least) {
		cost := 1 + roundness(base)
		for _, row := range f.rows {
			before := base
			for _, x := range row {
				if x > 3*before+f.noise {
					cost = math.Inf(1)
				}
				cost += math.Log(max(f.noise, 3*before-base))
				before = x
			}
		}
		f.found = append(f.found, candidate{"decorrelated base=" + exactly(seconds(base)), cost, 0})
	}
}

// digits are the first digits of round numbers, the roundest first.
var digits = [][]float64{{1, 2, 5}, {3, 4, 6, 8, 1.5, 2.5}, {7, 9, 1.2, 7.5}}

// rounded returns the round numbers between two bounds, the roundest first, and last x with three digits. 0 is round.
func rounded(low, top, x float64) (all []float64) {
	if low <= 0 {
		all = append(all, 0)
	}
	for _, some := range digits {
		for e := -4; e <= 4; e++ {
			for _, d := range some {
				if v := d * math.Pow10(e); v >= low && v <= top {
					all = append(all, v)
				}
			}
		}
	}
	if x > 0 {
		unit := math.Pow10(int(math.Floor(math.Log10(x))) - 2)
		all = append(all, math.Round(x/unit)*unit)
	}
	return all
}

// roundness returns the cost of a number: none of the roundest.
func roundness(x float64) float64 {
	for i, some := range digits {
		for _, d := range some {
			if x == 0 || math.Abs(math.Remainder(math.Log10(x/d), 1)) < 1e-9 {
				return 1.5 * float64(i)
			}
		}
	}
	return 7
}

func seconds(x float64) time.Duration { return time.Duration(math.Round(x*1e6)) * time.Microsecond }

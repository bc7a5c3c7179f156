package sim

import (
	"math"
	"time"
)

// Spread describes a set of durations. The zero Spread describes the empty set. Percentiles have a relative error of at
// most 1/256, because the durations themselves are not kept.
type Spread struct {
	Count int           `json:"count"`
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
	Mean  time.Duration `json:"mean"`
	SD    time.Duration `json:"sd"` // the standard deviation: the root of the mean square difference from Mean
	CV    float64       `json:"cv"` // SD/Mean, the coefficient of variation; 0 if Mean is 0
	P50   time.Duration `json:"p50"`
	P90   time.Duration `json:"p90"`
	P99   time.Duration `json:"p99"`
}

// Counts describes a set of whole numbers. The zero Counts describes the empty set. Percentiles up to 255 are exact;
// larger ones have a relative error of at most 1/256.
type Counts struct {
	Count int     `json:"count"`
	Least int64   `json:"least"`
	Most  int64   `json:"most"`
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"` // the standard deviation: the root of the mean square difference from Mean
	P50   int64   `json:"p50"`
	P90   int64   `json:"p90"`
	P99   int64   `json:"p99"`
}

// Confidence returns half the width of the 95 % confidence interval of the mean, 1.96·SD/√Count. It is valid if s
// describes many independent values.
func (s Spread) Confidence() time.Duration { return duration(confidence(float64(s.SD), s.Count)) }

// Confidence is as Spread's.
func (c Counts) Confidence() float64 { return confidence(c.SD, c.Count) }

func confidence(sd float64, count int) float64 { return 1.96 * sd / math.Sqrt(float64(max(count, 1))) }

// Estimate describes a figure of several runs: its mean and its distribution from run to run.
type Estimate struct {
	Count int     `json:"count"` // the number of runs
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"`
	P50   float64 `json:"p50"`
	P90   float64 `json:"p90"`
	P99   float64 `json:"p99"`
}

// Confidence is as Spread's.
func (e Estimate) Confidence() float64 { return confidence(e.SD, e.Count) }

// estimate returns the Estimate of the numbers that were added by addFigure.
func (m *moments) estimate() Estimate {
	const unit = 1e-6
	at := func(p int) float64 { return float64(m.percentile(p)) * unit }
	return Estimate{m.count, m.mean * unit, m.sd() * unit, at(50), at(90), at(99)}
}

// addFigure adds a number >= 0, in units of a millionth.
func (m *moments) addFigure(x float64) { m.add(int64(math.Round(x * 1e6))) }

// moments computes the mean, the standard deviation and the histogram of numbers >= 0 (Welford's algorithm, which
// avoids cancellation). The zero moments is empty.
type moments struct {
	count       int
	least, most int64
	mean, sq    float64
	histogram   histogram
}

func (m *moments) add(v int64) {
	m.count++
	if m.count == 1 {
		m.least, m.most = v, v
	}
	m.least, m.most = min(m.least, v), max(m.most, v)
	x := float64(v)
	d := x - m.mean
	m.mean += d / float64(m.count)
	m.sq += float64(d * (x - m.mean))
	m.histogram.add(v)
}

// merge adds the numbers of o.
func (m *moments) merge(o *moments) {
	if o.count == 0 {
		return
	}
	if m.count == 0 {
		m.least, m.most = o.least, o.most
	}
	m.least, m.most = min(m.least, o.least), max(m.most, o.most)
	n, d := float64(m.count+o.count), o.mean-m.mean
	m.sq += o.sq + float64(d*d*float64(m.count)*float64(o.count)/n)
	m.mean += float64(d * float64(o.count) / n)
	m.count += o.count
	m.histogram.grow(len(o.histogram.counts))
	for i, n := range o.histogram.counts {
		m.histogram.counts[i] += n
	}
}

// reset empties m and keeps its memory.
func (m *moments) reset() {
	clear(m.histogram.counts)
	*m = moments{histogram: m.histogram}
}

func (m *moments) sd() float64 {
	if m.count == 0 {
		return 0
	}
	return math.Sqrt(m.sq / float64(m.count))
}

func (m *moments) percentile(p int) int64 {
	return min(max(m.histogram.percentile(p, m.count), m.least), m.most)
}

func (m *moments) counts() Counts {
	return Counts{m.count, m.least, m.most, m.mean, m.sd(), m.percentile(50), m.percentile(90), m.percentile(99)}
}

func (m *moments) spread() Spread {
	s := Spread{
		Count: m.count, Least: time.Duration(m.least), Most: time.Duration(m.most), Mean: duration(m.mean), SD: duration(m.sd()),
		P50: time.Duration(m.percentile(50)), P90: time.Duration(m.percentile(90)), P99: time.Duration(m.percentile(99)),
	}
	if m.mean > 0 {
		s.CV = m.sd() / m.mean
	}
	return s
}

// duration returns x ns, rounded.
func duration(x float64) time.Duration {
	if x >= math.MaxInt64 {
		return never
	}
	return time.Duration(math.Round(x))
}

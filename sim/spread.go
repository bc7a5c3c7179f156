package sim

import (
	"math"
	"time"
)

// Spread describes a set of durations. The zero Spread describes none.
type Spread struct {
	Count int           `json:"count"`
	Least time.Duration `json:"least"`
	Most  time.Duration `json:"most"`
	Mean  time.Duration `json:"mean"`
	SD    time.Duration `json:"sd"` // the standard deviation: the root of the mean square from Mean
	CV    float64       `json:"cv"` // SD/Mean, the coefficient of variation; 0 where Mean is 0
}

// Counts describes a set of whole numbers. The zero Counts describes none.
type Counts struct {
	Count int     `json:"count"`
	Least int64   `json:"least"`
	Most  int64   `json:"most"`
	Mean  float64 `json:"mean"`
	SD    float64 `json:"sd"` // the standard deviation: the root of the mean square from Mean
}

// moments gathers numbers one by one (Welford's way, which loses nothing to cancellation). The zero moments has none.
type moments struct {
	count       int
	least, most int64
	mean, sq    float64
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
}

func (m *moments) sd() float64 {
	if m.count == 0 {
		return 0
	}
	return math.Sqrt(m.sq / float64(m.count))
}

func (m *moments) counts() Counts { return Counts{m.count, m.least, m.most, m.mean, m.sd()} }

func (m *moments) spread() Spread {
	s := Spread{m.count, time.Duration(m.least), time.Duration(m.most), duration(m.mean), duration(m.sd()), 0}
	if m.mean > 0 {
		s.CV = m.sd() / m.mean
	}
	return s
}

// duration is x ns, to the nearest.
func duration(x float64) time.Duration {
	if x >= math.MaxInt64 {
		return never
	}
	return time.Duration(math.Round(x))
}

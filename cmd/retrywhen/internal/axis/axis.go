// Package axis computes the ticks of axes, and formats times and numbers for them.
package axis

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Tick is one tick of an axis.
type Tick struct {
	At    float64 `json:"at"` // in seconds on an axis of time
	Label string  `json:"label"`
}

const day = 24 * time.Hour

// steps are the steps of a clock: 1, 2, 5, 10, 15 and 30 seconds and minutes, and 1, 2, 3, 6 and 12 hours.
var steps = []time.Duration{
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 2 * time.Minute, 5 * time.Minute, 10 * time.Minute, 15 * time.Minute, 30 * time.Minute,
	time.Hour, 2 * time.Hour, 3 * time.Hour, 6 * time.Hour, 12 * time.Hour,
}

// Step returns the smallest step between ticks with which an axis of the given length has at most that many intervals.
// Steps below a second, and from a day on, are 1, 2 or 5 times a power of ten.
func Step(length time.Duration, intervals int) time.Duration {
	least := length / time.Duration(max(intervals, 1))
	if length%time.Duration(max(intervals, 1)) != 0 {
		least++
	}
	switch {
	case least <= time.Second/2:
		return time.Duration(decimal(float64(least)))
	case least > 12*time.Hour:
		if days := decimal(float64(least) / float64(day)); days < math.MaxInt64/float64(day) {
			return day * time.Duration(days)
		}
		return math.MaxInt64
	}
	i, _ := slices.BinarySearch(steps, least)
	return steps[i]
}

// decimal returns the smallest number >= x, and >= 1, that is 1, 2 or 5 times a power of ten.
func decimal(x float64) float64 {
	power := 1.0
	for {
		for _, m := range []float64{1, 2, 5} {
			if !(m*power < x) { // also if x is NaN
				return m * power
			}
		}
		power *= 10
	}
}

// Times returns the ticks of an axis from 0 to most, in at most that many intervals. The last tick may lie a millionth
// past the end, because random draws come near a bound without reaching it.
func Times(most time.Duration, intervals int) []Tick {
	if most <= 0 {
		return []Tick{{0, "0"}}
	}
	step := Step(most, intervals)
	ticks := make([]Tick, 0, intervals+1)
	for at := time.Duration(0); ; at += step {
		ticks = append(ticks, Tick{at.Seconds(), Time(at)})
		if at > most-step+min(most/1e6, math.MaxInt64-most) {
			return ticks
		}
	}
}

// TimesFrom returns the ticks of an axis from 0 to most, in about that many intervals, whose labels count from the
// origin. A tick before it has a negative label.
func TimesFrom(origin, most time.Duration, intervals int) []Tick {
	if origin == 0 || most <= 0 {
		return Times(most, intervals)
	}
	step := Step(most, intervals)
	var ticks []Tick
	for at := origin % step; at <= most && at >= 0; at += step {
		ticks = append(ticks, Tick{at.Seconds(), Time(at - origin)})
	}
	return ticks
}

// Numbers returns the ticks of an axis of whole numbers from 0 to most, in at most that many intervals.
func Numbers(most float64, intervals int) []Tick {
	return numbers(most, decimal(most/float64(max(intervals, 1))))
}

// Rates returns the ticks of an axis from 0 to most, in at most that many intervals, which may be shorter than 1.
func Rates(most float64, intervals int) []Tick {
	least, unit := most/float64(max(intervals, 1)), 1.0
	for least > 0 && least*unit < 1 {
		unit *= 10
	}
	return numbers(most, decimal(least*unit)/unit)
}

func numbers(most, step float64) []Tick {
	if !(most > 0) || math.IsInf(most, 1) {
		return []Tick{{0, "0"}}
	}
	var ticks []Tick
	for i := range int(most/step+1e-9) + 1 { // 0.3 / 0.1 is a little less than 3
		at := min(float64(i)*step, most) // 3·0.1 is a little more than 0.3
		ticks = append(ticks, Tick{at, Number(at)})
	}
	return ticks
}

// Time formats a duration in at most two units, as in 1m30s, 250ms or 2d12h.
func Time(d time.Duration) string {
	switch {
	case d < 0:
		return "-" + Time(-max(d, -math.MaxInt64))
	case d == 0:
		return "0"
	case d < time.Second:
		return figures(d).String()
	case d >= 100*365*day:
		return strconv.FormatInt(int64(d/(365*day)), 10) + "y"
	case d >= day:
		d = d.Round(time.Hour)
		return part(d/day, "d") + part(d%day/time.Hour, "h")
	case d >= time.Hour:
		if d = d.Round(time.Minute); d == day {
			return "1d"
		}
		return part(d/time.Hour, "h") + part(d%time.Hour/time.Minute, "m")
	case d >= time.Minute:
		if d = d.Round(100 * time.Millisecond); d == time.Hour {
			return "1h"
		}
		text := part(d/time.Minute, "m")
		if rest := d % time.Minute; rest > 0 {
			text += rest.String()
		}
		return text
	default:
		if d = figures(d); d == time.Minute {
			return "1m"
		}
		return d.String()
	}
}

// figures rounds to three digits.
func figures(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit)
}

func part(n time.Duration, unit string) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10) + unit
}

// Number formats a number with at most three digits, thousands and millions as in 1.5k and 2M.
func Number(x float64) string {
	switch a := math.Abs(x); {
	case math.IsNaN(x):
		return "-"
	case a >= 999.5e6:
		return strconv.FormatFloat(x, 'g', 3, 64)
	case a >= 999.5e3:
		return strconv.FormatFloat(round(x/1e6), 'f', -1, 64) + "M"
	case a >= 999.5:
		return strconv.FormatFloat(round(x/1e3), 'f', -1, 64) + "k"
	default:
		return strconv.FormatFloat(round(x), 'f', -1, 64)
	}
}

func round(x float64) float64 {
	if x == 0 {
		return 0
	}
	scale := math.Pow(10, 2-math.Floor(math.Log10(math.Abs(x))))
	return math.Round(x*scale) / scale
}

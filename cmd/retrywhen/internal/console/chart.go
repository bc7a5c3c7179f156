package console

import (
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
)

// Span is an axis of time, from 0 to Most, on a line of Width characters. Its labels count from Origin.
type Span struct {
	Most   time.Duration
	Width  int
	Origin time.Duration
}

// column returns the column of a time, from 0 to Width-1.
func (s Span) column(d time.Duration) int {
	if s.Most <= 0 {
		return 0
	}
	return min(max(int(math.Round(float64(d)/float64(s.Most)*float64(s.Width-1))), 0), s.Width-1)
}

// Labels returns the line of labels under the axis, each centred under its tick.
func (s Span) Labels() string {
	line := []rune(strings.Repeat(" ", s.Width))
	free := 0
	for _, t := range axis.TimesFrom(s.Origin, s.Most, s.Width/10) {
		label := []rune(t.Label)
		at := s.column(time.Duration(t.At * float64(time.Second)))
		from := min(max(at-len(label)/2, 0), s.Width-len(label))
		if from < free || from < 0 {
			continue
		}
		copy(line[from:], label)
		free = from + len(label) + 1
	}
	return strings.TrimRight(string(line), " ")
}

// Range returns a line with a bar from least to most and a dot at the median.
func (s Span) Range(least, median, most time.Duration) string {
	line := []rune(strings.Repeat(" ", s.Width))
	from, at, to := s.column(least), s.column(median), s.column(most)
	for i := from; i <= to; i++ {
		line[i] = '─'
	}
	line[from], line[to] = '├', '┤'
	line[at] = '●'
	return strings.TrimRight(string(line), " ")
}

// Marks returns a line with a character at each time. In each column the last one is shown.
func (s Span) Marks(at []time.Duration, mark func(i int) rune) string {
	line := []rune(strings.Repeat("·", s.Width))
	for i, d := range at {
		if d >= 0 && d <= s.Most {
			line[s.column(d)] = mark(i)
		}
	}
	return string(line)
}

// Bars returns lines with a column for each count; a count of most has the full height. The resolution is an eighth of
// a line, and a count above 0 is always visible.
func Bars(counts []int64, most int64, lines int) []string {
	chart := make([]string, lines)
	for l := range lines {
		row := make([]rune, len(counts))
		for i, c := range counts {
			eighths := 0
			if most > 0 {
				eighths = int(math.Round(float64(c) / float64(most) * float64(8*lines)))
			}
			if c > 0 {
				eighths = max(eighths, 1)
			}
			row[i] = []rune(" ▁▂▃▄▅▆▇█")[min(max(eighths-8*(lines-1-l), 0), 8)]
		}
		chart[l] = strings.TrimRight(string(row), " ")
	}
	return chart
}

// Columns joins blocks of lines horizontally, with a gap of that many spaces.
func Columns(gap int, blocks ...[]string) []string {
	var lines []string
	for i, b := range blocks {
		width := Width(lines) + gap
		if i == 0 {
			width = 0
		}
		for n, l := range b {
			if n == len(lines) {
				lines = append(lines, "")
			}
			if utf8.RuneCountInString(l) > 0 {
				lines[n] = Pad(lines[n], width) + l
			}
		}
	}
	return lines
}

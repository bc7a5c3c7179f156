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

// Dots is a chart of dots, two by four in each character.
type Dots struct {
	width, height int // in characters
	cells         []rune
}

// NewDots returns an empty chart, with width and height in characters.
func NewDots(width, height int) *Dots {
	return &Dots{width, height, make([]rune, width*height)}
}

// Set draws a dot at x and y, both from 0 to 1, y downwards. It ignores dots outside of the chart.
func (d *Dots) Set(x, y float64) {
	if !(x >= 0 && x <= 1 && y >= 0 && y <= 1) {
		return
	}
	i, j := min(int(x*float64(2*d.width)), 2*d.width-1), min(int(y*float64(4*d.height)), 4*d.height-1)
	// The bits of a braille character: two columns of three, then the fourth row.
	bits := [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}
	d.cells[j/4*d.width+i/2] |= bits[j%4][i%2]
}

// Lines returns the chart.
func (d *Dots) Lines() []string {
	lines := make([]string, d.height)
	for i := range lines {
		row := make([]rune, d.width)
		for j, bits := range d.cells[i*d.width : (i+1)*d.width] {
			row[j] = ' '
			if bits != 0 {
				row[j] = 0x2800 + bits
			}
		}
		lines[i] = strings.TrimRight(string(row), " ")
	}
	return lines
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

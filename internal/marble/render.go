package marble

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// glyph is an event as a diagram shows it.
type glyph struct {
	at  time.Duration
	sym string
}

// row is one diagram of several that are drawn one above the other.
type row struct {
	glyphs []glyph
	until  time.Duration // it continues, with frames, up to here; 0 if its last glyph ends it
}

// mostFrames is the number of consecutive frames that are drawn as dashes. More become a time.
const mostFrames = 30

// render draws rows so that the same instant is in the same column of each, and returns the column of each. If one row
// has more at an instant than the others, the others are filled, if necessary with spaces.
func render(rows ...row) (drawn []string, columns map[time.Duration]int) {
	var instants []time.Duration
	var until time.Duration
	for _, r := range rows {
		for _, g := range r.glyphs {
			instants = append(instants, g.at)
		}
		until = max(until, r.until)
	}
	slices.Sort(instants)
	instants = slices.Compact(instants)
	lines := make([]strings.Builder, len(rows))
	columns = make(map[time.Duration]int)
	width := 0
	writeAll := func(text string) {
		for i := range lines {
			lines[i].WriteString(text)
		}
		width += utf8.RuneCountInString(text)
	}
	var t time.Duration // the instant at the end of the lines
	for k, x := range instants {
		writeAll(gap(x-t, width == 0))
		columns[x] = width
		cells, widest := cellsAt(rows, x)
		fill, next := "-", x+time.Duration(widest)*Frame
		if k+1 < len(instants) && instants[k+1] < next {
			fill, next = " ", x+Frame
		}
		for i := range lines {
			lines[i].WriteString(cells[i])
			lines[i].WriteString(strings.Repeat(fill, widest-utf8.RuneCountInString(cells[i])))
		}
		width += widest
		t = next
	}
	if until > t {
		writeAll(gap(until-t, width == 0))
	}
	for i := range lines {
		text := lines[i].String()
		if rows[i].until == 0 && len(rows[i].glyphs) > 0 {
			text = strings.TrimRight(text, "- ") // padding that was only for the other rows
			if at := strings.LastIndexAny(text, " "); at >= 0 && progression.MatchString(text[at+1:]) {
				text = strings.TrimRight(text[:at], "- ")
			}
		}
		drawn = append(drawn, strings.TrimRight(text, " "))
	}
	return drawn, columns
}

// cellsAt returns the cell of each row at an instant, and the largest width.
func cellsAt(rows []row, at time.Duration) (cells []string, widest int) {
	for _, r := range rows {
		var here []string
		for _, g := range r.glyphs {
			if g.at == at {
				here = append(here, g.sym)
			}
		}
		cell := strings.Join(here, "")
		if len(here) > 1 {
			cell = "(" + cell + ")"
		}
		cells = append(cells, cell)
		widest = max(widest, utf8.RuneCountInString(cell))
	}
	return cells, widest
}

// gap writes an interval without events, as frames or as a time with spaces around it.
func gap(d time.Duration, begins bool) string {
	if d <= 0 {
		return ""
	}
	if d%Frame == 0 && d/Frame <= mostFrames {
		return strings.Repeat("-", int(d/Frame))
	}
	text := writeTime(d) + " "
	if !begins {
		text = " " + text
	}
	return text
}

// writeTime writes d in the form of diagrams.
func writeTime(d time.Duration) string {
	switch {
	case d%time.Minute == 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	case d%time.Millisecond == 0:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	}
	return strings.TrimRight(fmt.Sprintf("%d.%06d", d/time.Millisecond, d%time.Millisecond), "0") + "ms"
}

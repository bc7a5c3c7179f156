// Package console writes tables and charts as lines of text.
package console

import (
	"strings"
	"unicode/utf8"
)

// Table lays rows out in columns, two spaces apart, under a header. The first `left` columns stand flush left, the
// others flush right. Each line ends without spaces.
func Table(header []string, rows [][]string, left int) []string {
	widths := make([]int, len(header))
	all := append([][]string{header}, rows...)
	for _, row := range all {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	lines := make([]string, len(all))
	for n, row := range all {
		var line strings.Builder
		for i, cell := range row {
			if i > 0 {
				line.WriteString("  ")
			}
			space := strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			if i < left {
				line.WriteString(cell + space)
			} else {
				line.WriteString(space + cell)
			}
		}
		lines[n] = strings.TrimRight(line.String(), " ")
	}
	return lines
}

// Fit is a Table of at most width letters to a line: its first column is cut to what the others leave. Where that is
// too little, each row is a list instead.
func Fit(width int, header []string, rows [][]string, left int) []string {
	const least = 14
	others, widest := make([][]string, len(rows)), 0
	for i, row := range rows {
		others[i], widest = row[1:], max(widest, utf8.RuneCountInString(row[0]))
	}
	room := width - 2 - Width(Table(header[1:], others, 0))
	if room < min(widest, least) || room < utf8.RuneCountInString(header[0]) {
		return list(width, header, rows)
	}
	cut := make([][]string, len(rows))
	for i, row := range rows {
		cut[i] = append([]string{Shorten(row[0], room)}, row[1:]...)
	}
	return Table(header, cut, left)
}

// list is a block for each row, of a line for each cell.
func list(width int, header []string, rows [][]string) []string {
	var lines []string
	for _, row := range rows {
		lines = append(lines, Shorten(header[0]+" "+row[0], width))
		cells := make([][]string, len(row)-1)
		for i, cell := range row[1:] {
			cells[i] = []string{"", header[1+i], cell}
		}
		lines = append(lines, Table(make([]string, 3), cells, 2)[1:]...)
	}
	return lines
}

// Shorten cuts what is longer than most letters.
func Shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Pad fills each line with spaces up to the width.
func Pad(line string, width int) string {
	return line + strings.Repeat(" ", max(0, width-utf8.RuneCountInString(line)))
}

// Width returns the width of the widest line.
func Width(lines []string) int {
	most := 0
	for _, l := range lines {
		most = max(most, utf8.RuneCountInString(l))
	}
	return most
}

// Wrap puts the parts on lines of at most width letters, a space between two, and breaks only between them.
func Wrap(width int, parts ...string) []string {
	var lines []string
	for _, p := range parts {
		last := len(lines) - 1
		if last >= 0 && utf8.RuneCountInString(lines[last])+1+utf8.RuneCountInString(p) <= width {
			lines[last] += " " + p
		} else {
			lines = append(lines, p)
		}
	}
	return lines
}

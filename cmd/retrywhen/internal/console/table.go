// Package console formats tables and charts as lines of text.
package console

import (
	"strings"
	"unicode/utf8"
)

// Table returns rows in columns, two spaces apart, under a header. The first `left` columns are aligned left, the
// others right. Lines have no trailing spaces.
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

// Fit returns a Table with lines of at most width characters. It shortens the first column. If too little of it is
// left, each row becomes a list.
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

// list returns a block for each row, with a line for each cell.
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

// Shorten shortens a text to at most most characters.
func Shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// Pad appends spaces up to the width.
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

// Wrap joins the parts with spaces into lines of at most width characters. It breaks lines only between parts.
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

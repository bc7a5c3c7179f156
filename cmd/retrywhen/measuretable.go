package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/axis"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/console"
	"github.com/retrywhen/retrywhen/prove"
)

// writeMeasured writes what was measured: a table, the findings, and the policy. Only findings and the policy have a word
// with a colon at the beginning of their line.
func writeMeasured(out io.Writer, m prove.Measured, missing []string) error {
	var lines []string
	add := func(text string) { lines = append(lines, folded(out, text)...) }
	if len(m.Rows) > 0 {
		lines = append(measuredTable(m, min(width(out), 100)), "")
	}
	for _, f := range m.Findings {
		add(line(f))
	}
	for _, text := range missing {
		add(text)
	}
	if len(m.Findings)+len(missing) > 0 {
		add("")
	}
	switch {
	case m.Policy != "":
		add("policy: " + m.Policy)
		add("  " + m.Why)
		for _, other := range m.Or {
			add("  or: " + other)
		}
		add(fmt.Sprintf("  retrywhen show %q", m.Policy))
		add(fmt.Sprintf("  retrywhen sim overload %q", m.Policy))
	case m.Why != "":
		add("  no policy: " + m.Why)
	}
	_, err := io.WriteString(out, console.ForLocale(strings.Join(lines, "\n")+"\n"))
	return err
}

// folded returns a text as lines of a terminal, the further ones indented. Elsewhere it is one line.
func folded(out io.Writer, text string) []string {
	if !isTerminal(out) {
		return []string{text}
	}
	indent := text[:len(text)-len(strings.TrimLeft(text, " "))]
	lines := console.Wrap(width(out)-4, strings.Fields(text)...)
	return strings.Split(indent+strings.Join(lines, "\n    "), "\n")
}

// measuredTable returns the rows, with statuses that have the same effect in one.
func measuredTable(m prove.Measured, wide int) []string {
	header := []string{"the server, to " + m.Request, "requests", "waits", "the program"}
	var rows [][]string
	last := "" // the effect of the row before, if that is of a status
	for _, r := range m.Rows {
		first, _, _ := strings.Cut(r.How, " ")
		effect := fmt.Sprint(r.Requests, first)
		if _, err := strconv.Atoi(r.Way); err != nil {
			effect = ""
		}
		if effect != "" && effect == last && len(rows[len(rows)-1][0]) < 20 {
			rows[len(rows)-1][0] += " " + r.Way
		} else {
			rows = append(rows, []string{r.Way, fmt.Sprint(r.Requests), waitsText(r.Waits), r.How})
		}
		last = effect
	}
	rows = append([][]string{header}, rows...)
	used := 0
	for i, most := range []int{28, 8, 26, wide} {
		if i == 3 {
			most = max(wide-used, 20)
		}
		longest := 0
		for _, row := range rows {
			row[i] = console.Shorten(row[i], most)
			longest = max(longest, utf8.RuneCountInString(row[i]))
		}
		for _, row := range rows {
			if i == 1 {
				row[i] = strings.Repeat(" ", longest-utf8.RuneCountInString(row[i])) + row[i]
			}
		}
		used += longest + 2
	}
	return console.Table(rows[0], rows[1:], len(header))
}

// waitsText writes waits as far as there is room for them.
func waitsText(waits []time.Duration) string {
	var all []string
	for _, d := range waits {
		all = append(all, axis.Time(d))
	}
	return strings.Join(all, " ")
}

package marble

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Compare draws the wanted events above the actual ones, and marks the first difference, the event with the given
// index.
func Compare[T any](want Diagram[T], got []Event[T], differ int) string {
	legend := legend[T]{values: want.values}
	got = slices.Clone(got)
	for i := range differ {
		got[i].letter = want.Events[i].letter
	}
	above, below := legend.row(want.Events, want.Spans), legend.row(got, want.Spans)
	at := Longest
	var first [2]string
	for k, events := range [][]Event[T]{want.Events, got} {
		first[k] = "nothing"
		if differ < len(events) {
			at = min(at, events[differ].At)
			first[k] = fmt.Sprintf("%v at %v", events[differ], events[differ].At)
		} else if differ > 0 {
			first[k] = "nothing more"
		}
	}
	lines, columns := render(above, below)
	var b strings.Builder
	fmt.Fprintf(&b, "    want  %s\n    got   %s\n          %*s\n    first difference: want %s, got %s", lines[0], lines[1], columns[at]+1, "^", first[0], first[1])
	for _, line := range legend.lines() {
		fmt.Fprintf(&b, "\n    %s", line)
	}
	return b.String()
}

// CompareSubscriptions draws the wanted times above the actual ones, for each subscription.
func CompareSubscriptions(want, got []Subscription) string {
	var rows []row
	for i := range max(len(want), len(got)) {
		for _, all := range [][]Subscription{want, got} {
			r := row{}
			if i < len(all) {
				r.glyphs = append(r.glyphs, glyph{all[i].From, "^"})
				if !all[i].Open {
					r.glyphs = append(r.glyphs, glyph{all[i].To, "!"})
				}
			}
			rows = append(rows, r)
		}
	}
	lines, _ := render(rows...)
	for i, line := range lines {
		if len(rows[i].glyphs) == 0 {
			line = "none"
		}
		lines[i] = "    " + []string{"want  ", "got   "}[i%2] + line
	}
	return strings.Join(lines, "\n")
}

// Draw returns the diagram of the events before d, for a stream that has not ended, or of all events up to the end,
// with the meaning of the letters. Strings and numbers of one letter or digit are their own letters, other values
// become capitals.
func Draw[T any](events []Event[T], d time.Duration) (diagram string, values map[string]T) {
	var legend legend[T]
	if n := slices.IndexFunc(events, func(e Event[T]) bool { return e.At >= d }); n >= 0 && !Over(events) {
		events = events[:n]
	}
	r := legend.row(events, d)
	values = make(map[string]T)
	for _, m := range legend.found {
		values[m.letter] = m.value
	}
	lines, _ := render(r)
	return lines[0], values
}

package streamtest

import (
	"fmt"
	"strings"
)

// compare draws what was wanted above what came, and says where they begin to differ.
func compare[T any](d diagram, want, got []event[T], differ int, l letters[T]) string {
	alphabet := alphabet[T]{letters: l, used: make(map[string]bool)}
	for _, m := range d.marks {
		alphabet.used[m.letter] = true
	}
	above, below := row{}, row{}
	for i, e := range want {
		above.glyphs = append(above.glyphs, glyph{e.at, alphabet.wanted(e, d.marks[i].letter)})
	}
	for i, e := range got {
		like := ""
		if i < len(want) && same(want[i], e) {
			like = d.marks[i].letter
		}
		below.glyphs = append(below.glyphs, glyph{e.at, alphabet.got(e, like)})
	}
	if !d.over() {
		above.until = d.spans
	}
	if len(got) == 0 || got[len(got)-1].kind == value {
		below.until = d.spans
	}
	at := longest
	var first [2]string
	for k, events := range [][]event[T]{want, got} {
		first[k] = "nothing"
		if differ < len(events) {
			at = min(at, events[differ].at)
			first[k] = fmt.Sprintf("%v at %v", events[differ], events[differ].at)
		} else if differ > 0 {
			first[k] = "nothing more"
		}
	}
	lines, column := draw(above, below)
	var b strings.Builder
	fmt.Fprintf(&b, "    want  %s\n    got   %s\n          %*s\n    first difference: want %s, got %s", lines[0], lines[1], column(at)+1, "^", first[0], first[1])
	for _, line := range alphabet.legend {
		fmt.Fprintf(&b, "\n    %s", line)
	}
	return b.String()
}

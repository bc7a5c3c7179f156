package virtual

import (
	"fmt"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// Goroutine is one entry of the runtime's listing of all goroutines.
type Goroutine struct {
	id, bubble int    // bubble 0: in none
	state      string // "chan receive", "sleep" …
	durable    bool   // blocked, and only its bubble can wake it
	calls      []call // innermost first
	startedBy  call
}

// call is a function, and the line of a file that is reached in it.
type call struct{ function, place string }

// ours reports whether the call is one of this package's own.
func (c call) ours() bool {
	dir, file := path.Split(c.place)
	return strings.HasPrefix(c.function, module+"streamtest") && (dir == "streamtest/" || dir == "virtual/") &&
		!strings.Contains(file, "_test.go:")
}

// Current returns the number of the goroutine that calls it.
func Current() int { return current().id }

// CurrentBubble returns the number of the bubble of the goroutine that calls it, 0 outside of any.
func CurrentBubble() int { return current().bubble }

// current returns the goroutine that calls it, without its calls.
func current() Goroutine {
	var buf [256]byte
	text := string(buf[:runtime.Stack(buf[:], false)])
	header, _, _ := strings.Cut(text, "\n")
	g, _ := parseHeader(header)
	return g
}

// inBubble returns the goroutines of a bubble.
func inBubble(bubble int) (all []Goroutine) {
	for _, g := range goroutines() {
		if g.bubble == bubble {
			all = append(all, g)
		}
	}
	return all
}

// goroutines lists all goroutines of the process.
func goroutines() (all []Goroutine) {
	buf := make([]byte, 64<<10)
	n := runtime.Stack(buf, true)
	for n == len(buf) {
		buf = make([]byte, 2*len(buf))
		n = runtime.Stack(buf, true)
	}
	for entry := range strings.SplitSeq(string(buf[:n]), "\n\n") {
		if g, ok := parseGoroutine(entry); ok {
			all = append(all, g)
		}
	}
	return all
}

// parseHeader reads a line such as "goroutine 12 [chan receive (durable), 2 minutes, synctest bubble 3]:".
func parseHeader(line string) (g Goroutine, ok bool) {
	id, rest, ok := strings.Cut(strings.TrimPrefix(line, "goroutine "), " ")
	if g.id, _ = strconv.Atoi(id); !ok || g.id == 0 {
		return g, false
	}
	_, rest, ok = strings.Cut(rest, "[")
	rest, _, ok2 := strings.Cut(rest, "]")
	if !ok || !ok2 {
		return g, false
	}
	for i, word := range strings.Split(rest, ", ") {
		if n, ok := strings.CutPrefix(word, "synctest bubble "); ok {
			g.bubble, _ = strconv.Atoi(n)
		} else if i == 0 {
			g.state, g.durable = strings.CutSuffix(word, " (durable)")
		}
	}
	return g, true
}

func parseGoroutine(entry string) (g Goroutine, ok bool) {
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(entry), "\n"), func(line string) bool {
		return strings.HasPrefix(line, "...") // of a deep stack: "...101 frames elided..."
	})
	if g, ok = parseHeader(lines[0]); !ok {
		return g, false
	}
	for i := 1; i+1 < len(lines); i += 2 {
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		if file, line, ok := cutLast(place, ":"); ok {
			place = shortFile(file) + ":" + line
		}
		if creator, ok := strings.CutPrefix(lines[i], "created by "); ok {
			creator, _, _ = strings.Cut(creator, " in goroutine ")
			g.startedBy = call{creator, place}
			break
		}
		function := lines[i]
		if before, _, ok := cutLast(function, "("); ok {
			function = before
		}
		g.calls = append(g.calls, call{function, place})
	}
	return g, true
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// others returns the goroutines of a bubble, without those that are given and those of the testing package.
func others(bubble int, without ...int) (all []Goroutine) {
	for _, g := range inBubble(bubble) {
		if !g.machinery() && !slices.Contains(without, g.id) {
			all = append(all, g)
		}
	}
	return all
}

// machinery reports whether g belongs to the testing package's side of a bubble, and to none of the test's code.
func (g Goroutine) machinery() bool {
	for _, c := range g.calls {
		if c.function == "internal/synctest.Run" || c.function == "testing/synctest.testingSynctestTest" {
			return true
		}
	}
	return false
}

// String shows g: what it waits for, where, and where it was started.
func (g Goroutine) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "goroutine %d [%s]", g.id, g.state)
	shown := 0
	for _, c := range g.calls {
		pkg := packageOf(c.function)
		if pkg == "runtime" || pkg == "testing" || pkg == "time" && shown == 0 || c.ours() {
			continue
		}
		if shown++; shown > 8 {
			break
		}
		fmt.Fprintf(&b, "\n        %s  %s", shortFunc(c.function), c.place)
	}
	if g.startedBy.function != "" && !strings.HasPrefix(g.startedBy.function, "testing") {
		fmt.Fprintf(&b, "\n        started by %s  %s", shortFunc(g.startedBy.function), g.startedBy.place)
	}
	return b.String()
}

// List writes one item after another, indented.
func List[T fmt.Stringer](items []T) string {
	var b strings.Builder
	for _, item := range items {
		b.WriteString("\n    ")
		b.WriteString(item.String())
	}
	return b.String()
}

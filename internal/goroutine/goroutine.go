// Package goroutine reads the runtime's list of goroutines and the synctest bubble of each. It stops the world, so only
// tests should use it.
package goroutine

import (
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Goroutine is one entry of the listing.
type Goroutine struct {
	ID, Bubble int    // Bubble 0: in no bubble
	State      string // "chan receive", "sleep" …
	Durable    bool   // blocked, and only its bubble can wake it
	Calls      []Call // innermost first
	StartedBy  Call
}

// Call is a function and its current line, as "/home/me/stream/merge.go:12".
type Call struct{ Function, Place string }

// Current returns the calling goroutine, without its calls.
func Current() Goroutine {
	var buf [256]byte
	text := string(buf[:runtime.Stack(buf[:], false)])
	header, _, _ := strings.Cut(text, "\n")
	g, _ := parseHeader(header)
	return g
}

// Count returns the number of goroutines in the caller's bubble, including those of the testing package. Unlike
// runtime.NumGoroutine it counts neither goroutines of other tests nor ended ones that the runtime has not removed yet.
// Outside of a bubble it panics.
func Count() int {
	bubble := Current().Bubble
	if bubble == 0 {
		panic("goroutine: Count: called outside of a bubble")
	}
	return len(InBubble(bubble))
}

// InBubble returns the goroutines of a bubble.
func InBubble(bubble int) (all []Goroutine) {
	for entry := range strings.SplitSeq(listing(), "\n\n") {
		header, calls, _ := strings.Cut(strings.TrimSpace(entry), "\n")
		if g, ok := parseHeader(header); ok && g.Bubble == bubble {
			g.parseCalls(calls)
			all = append(all, g)
		}
	}
	return all
}

// buffers are reused for listings, which have similar lengths.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

// listing returns the runtime's listing of all goroutines.
func listing() string {
	buf := buffers.Get().(*[]byte)
	defer buffers.Put(buf)
	for {
		if n := runtime.Stack(*buf, true); n < len(*buf) {
			return string((*buf)[:n])
		}
		*buf = make([]byte, max(16<<10, 2*len(*buf)))
	}
}

// parseHeader reads a line such as "goroutine 12 [chan receive (durable), 2 minutes, synctest bubble 3]:".
func parseHeader(line string) (g Goroutine, ok bool) {
	id, rest, ok := strings.Cut(strings.TrimPrefix(line, "goroutine "), " ")
	if g.ID, _ = strconv.Atoi(id); !ok || g.ID == 0 {
		return g, false
	}
	_, rest, ok = strings.Cut(rest, "[")
	rest, _, ok2 := strings.Cut(rest, "]")
	if !ok || !ok2 {
		return g, false
	}
	for i, word := range strings.Split(rest, ", ") {
		if n, ok := strings.CutPrefix(word, "synctest bubble "); ok {
			g.Bubble, _ = strconv.Atoi(n)
		} else if i == 0 {
			g.State, g.Durable = strings.CutSuffix(word, " (durable)")
		}
	}
	return g, true
}

// parseCalls reads the lines under a header, two for each call.
func (g *Goroutine) parseCalls(text string) {
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.HasPrefix(line, "...") // of a deep stack: "...101 frames elided..."
	})
	for i := 0; i+1 < len(lines); i += 2 {
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +0x")
		if creator, ok := strings.CutPrefix(lines[i], "created by "); ok {
			creator, _, _ = strings.Cut(creator, " in goroutine ")
			g.StartedBy = Call{creator, place}
			return
		}
		function := lines[i]
		if arguments := strings.LastIndexByte(function, '('); arguments >= 0 {
			function = function[:arguments]
		}
		g.Calls = append(g.Calls, Call{function, place})
	}
}

// Labelled returns the goroutines with a label of runtime/pprof, which those have inherited that they started. They
// have no ID and no state.
func Labelled(key, value string) (all []Goroutine) {
	var text strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return nil
	}
	label := strconv.Quote(key) + ":" + strconv.Quote(value)
	for entry := range strings.SplitSeq(text.String(), "\n\n") {
		lines := strings.Split(strings.TrimSpace(entry), "\n")
		if strings.HasPrefix(lines[0], "goroutine profile:") {
			lines = lines[1:]
		}
		if len(lines) < 2 || !strings.HasPrefix(lines[1], "# labels:") || !strings.Contains(lines[1], label) {
			continue
		}
		var g Goroutine
		for _, line := range lines[2:] {
			if fields := strings.Fields(strings.TrimPrefix(line, "#")); len(fields) == 3 {
				function, _, _ := strings.Cut(fields[1], "+0x")
				g.Calls = append(g.Calls, Call{function, fields[2]})
			}
		}
		n, _, _ := strings.Cut(lines[0], " ")
		for range max(1, number(n)) {
			all = append(all, g)
		}
	}
	return all
}

func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}

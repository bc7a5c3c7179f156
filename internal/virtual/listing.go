package virtual

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
	return parseHeader(header)
}

// Count returns the number of goroutines in the caller's bubble, including those of the testing package. Unlike
// runtime.NumGoroutine it counts neither goroutines of other tests nor ended ones that the runtime has not removed yet.
func Count() int { return len(InBubble(Current().Bubble)) }

// InBubble returns the goroutines of a bubble.
func InBubble(bubble int) (all []Goroutine) {
	for entry := range strings.SplitSeq(listing(), "\n\n") {
		header, calls, _ := strings.Cut(strings.TrimSpace(entry), "\n")
		if g := parseHeader(header); g.Bubble == bubble {
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
func parseHeader(line string) (g Goroutine) {
	id, rest, _ := strings.Cut(strings.TrimPrefix(line, "goroutine "), " ")
	g.ID, _ = strconv.Atoi(id)
	_, rest, _ = strings.Cut(rest, "[")
	rest, _, _ = strings.Cut(rest, "]")
	for i, word := range strings.Split(rest, ", ") {
		if n, ok := strings.CutPrefix(word, "synctest bubble "); ok {
			g.Bubble, _ = strconv.Atoi(n)
		} else if i == 0 {
			g.State, g.Durable = strings.CutSuffix(word, " (durable)")
		}
	}
	return g
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

// Labelled returns the outermost functions of the goroutines with a label of runtime/pprof, which those have inherited
// that they started: one for each goroutine.
func Labelled(key, value string) (functions []string) {
	var text strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&text, 1) // a Builder returns no error
	label := strconv.Quote(key) + ":" + strconv.Quote(value)
	_, entries, _ := strings.Cut(text.String(), "\n") // behind "goroutine profile: total 12"
	for entry := range strings.SplitSeq(entries, "\n\n") {
		lines := strings.Split(strings.TrimSpace(entry), "\n") // "2 @ 0x1 0x2", "# labels: {...}", and "#\t0x1\tf+0x3\tplace"
		if len(lines) < 3 || !strings.Contains(lines[1], label) {
			continue
		}
		number, _, _ := strings.Cut(lines[0], " ")
		n, _ := strconv.Atoi(number)
		function, _, _ := strings.Cut(strings.Split(lines[len(lines)-1], "\t")[2], "+0x")
		functions = append(functions, slices.Repeat([]string{function}, n)...)
	}
	return functions
}

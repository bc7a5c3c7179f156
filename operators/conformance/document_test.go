package conformance_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

var update = flag.Bool("update", false, "write docs/operators.md instead of comparing with it")

const (
	document = "../../docs/operators.md"
	preamble = `# Operators

What the sources and operators of packages [stream](../stream) and [operators](../operators) do, as diagrams; contracts are
in their comments. A test runs every operator and draws the result: ` + "`go test ./operators/conformance -run TestDocument -update`" + `.

A character is a millisecond. A letter or a digit is a value, ` + "`|`" + ` the end, ` + "`#`" + ` an error; ` + "`(ab|)`" + ` are events at the
instant of the bracket. A source with several diagrams has one for each run. From Go 1.27 on, functions of package operators
whose first parameter is a stream are methods too: ` + "`operators.Map(s, f)` is `s.Map(f)`" + `, and
` + "`operators.Batch(s, most, wait)` is `s.Batch[[]T](most, wait)`" + `. Without a method are
%s.
`
)

const (
	reactive = `
## For those who know ReactiveX

Operators that ReactiveX names differently, or that are one line of others; a test runs these lines. Lower-case names are your
own streams and functions, ` + "`ints` is a `stream.Stream[int]`" + `. There are no schedulers.

%s`
)

// docs/operators.md shows what the operators do.
func TestDocument(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, preamble, functionsOnly(t))
	for _, section := range catalogue {
		fmt.Fprintf(&b, "\n## %s\n\n```\n", section.title)
		for i, e := range section.entries {
			if i > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(drawing(t, e))
		}
		b.WriteString("```\n")
	}
	fmt.Fprintf(&b, reactive, lookupTable(t))
	got := b.String()
	if *update {
		check.Must(t, os.WriteFile(document, []byte(got), 0o644))
		return
	}
	want, err := os.ReadFile(document)
	check.Must(t, err)
	if got == string(want) {
		return
	}
	gotLines, wantLines := strings.Split(got, "\n"), strings.Split(string(want), "\n")
	for i, line := range gotLines {
		if i >= len(wantLines) || wantLines[i] != line {
			t.Fatalf("%s differs from what the operators do from line %d on:\n%s\nRun this test with -update, and read the difference.", document, i+1, line)
		}
	}
	t.Fatalf("%s is longer than what the operators do. Run this test with -update.", document)
}

// diagramOf runs st for d, and returns its diagram with the values of the letters.
func diagramOf[T any](s *session, d time.Duration, st stream.Stream[T]) (diagram string, values map[string]T) {
	var events []marble.Event[T]
	ctx, cancel := context.WithCancel(s.Context())
	go func() {
		err := st(ctx, func(v T) bool {
			events = append(events, marble.Event[T]{At: s.Elapsed(), Value: v})
			return true
		})
		over := marble.Event[T]{At: s.Elapsed(), Kind: marble.End}
		if err != nil {
			over.Kind = marble.Failure
		}
		if ctx.Err() == nil {
			events = append(events, over)
		}
	}()
	s.Advance(d)
	cancel()
	s.Advance(0)
	return marble.Draw(events, d)
}

// drawing shows the sources of an operator above its result.
func drawing(t *testing.T, e entry) (drawn string) {
	t.Helper()
	streamtest.Run(t, func(s *session) {
		diagram, legend := e.draw(s)
		short := e.name[strings.LastIndexByte(e.name, '.')+1:]
		var rows [][2]string
		for i, input := range e.inputs {
			name, input := named(i, input)
			for run := range strings.SplitSeq(input, "\n") {
				rows = append(rows, [2]string{name, run})
				name = ""
			}
		}
		label, pkg := e.label, strings.TrimSuffix(e.name, short)
		if strings.HasPrefix(label, short+"(") {
			label = pkg + label
		} else {
			drawn = e.name + "\n"
		}
		rows = append(rows, [2]string{label, diagram})
		width := 0
		for _, r := range rows {
			width = max(width, utf8.RuneCountInString(r[0]))
		}
		var b strings.Builder
		for _, r := range rows {
			fmt.Fprintf(&b, "%s%s  %s\n", r[0], strings.Repeat(" ", width-utf8.RuneCountInString(r[0])), r[1])
		}
		if len(legend) > 0 {
			fmt.Fprintf(&b, "%s  %s\n", strings.Repeat(" ", width), strings.Join(legend, ", "))
		}
		drawn += b.String()
	})
	return drawn
}

// method finds the methods of Stream in the text of methods_go127.go, which the parser of Go 1.26 cannot read.
var method = regexp.MustCompile(`(?m)^func \(s Stream\[T\]\) (\w+)(\[.*?\])?\(`)

// functionsOnly lists the functions of package operators that take a stream and have no method. Each other method calls
// the function of its name.
func functionsOnly(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../stream/methods_go127.go")
	check.Must(t, err)
	methods := map[string]bool{}
	for _, found := range method.FindAllStringSubmatch(string(text), -1) {
		methods[found[1]] = true
	}
	functions := packages(t)["operators"]
	var without []string
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		if functions[name].onStream && !methods[name] {
			without = append(without, name)
		}
		delete(methods, name)
	}
	for name := range methods {
		t.Errorf("the method %s is not a function of package operators", name)
	}
	return strings.Join(without[:len(without)-1], ", ") + " and " + without[len(without)-1]
}

// Command report writes RESULTS.md and the charts from the raw results in bench.txt. It runs in the benchmarks' folder.
package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	documents, err := documents("bench.txt")
	for path, text := range documents {
		if err == nil {
			err = os.WriteFile(path, text, 0o644)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "report:", err)
		os.Exit(1)
	}
}

func load(file string) (*raw, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return read(bytes.NewReader(text))
}

// documents returns what the raw results are written to, by path.
func documents(file string) (map[string][]byte, error) {
	r, err := load(file)
	if err != nil {
		return nil, err
	}
	return map[string][]byte{
		"RESULTS.md": r.markdown(),
		filepath.Join("..", "docs", "img", "bench-items.svg"): r.chart("One item through map, filter and reduce", "Items/plain/", "sec/item", ""),
		filepath.Join("..", "docs", "img", "bench-resubscribe.svg"): r.chart("One failure and the subscription after it", "Resubscribe/",
			"sec/failure", "B-held/failure"),
	}, nil
}

// column is one unit of a table, and how it is printed.
type column struct {
	head, unit string
	factor     float64
}

// section is a table: the benchmarks under a prefix.
type section struct {
	title, text, prefix string
	columns             []column
}

var sections = []section{
	{"One item through map, filter and reduce", `[items](items): a million ints, the functions not inlined. The context can be cancelled, but for
"background". rill and conc have no retry of streams.`, "Items/plain/", []column{{"ns", "sec/item", 1e9}, {"allocations", "allocs/op", 1e-6}}},
	{"The same under the library's own retry", "Around map and filter; nothing fails.", "Items/retried/",
		[]column{{"ns", "sec/item", 1e9}, {"allocations", "allocs/op", 1e-6}}},
	between("One item from a goroutine to the consumer", "Here a channel has room for 128 where the name says so, and answers when the consumer is done where it says so.", "hand-over"),
	between("Through Timeout", "A channel with a timer in its select is what one writes by hand.", "timeout"),
	between("Through Merge", "Two sources.", "merge"),
	between("Through Zip", "Two sources.", "zip"),
	between("Through Share", "Two consumers.", "share"),
	between("Through Batch", "100 items a batch.", "batch"),
	between("Through FlatMap", "Streams of one item, four at once, and pools of four.", "flatmap"),
	{"One failure and the subscription after it", `[resubscribe](resubscribe): 10,000 failures in a row with no delay, then one item. "Held" is what is in use when
the last attempt begins, heap and stacks, beyond what was before.`, "Resubscribe/",
		[]column{{"ns", "sec/failure", 1e9}, {"allocations", "allocs/op", 1e-4}, {"bytes allocated", "B/op", 1e-4}, {"bytes held", "B-held/failure", 1}}},
	{"One call that succeeds at once", "[calls](calls).", "Call/first-try/", []column{{"ns", "sec/op", 1e9}, {"allocations", "allocs/op", 1}}},
	{"One call that fails ten times", "Without a delay.", "Call/ten-failures/", []column{{"ns", "sec/op", 1e9}, {"allocations", "allocs/op", 1}}},
	{"One delay", "The first eight delays of an operation, exponential with jitter and a cap. failsafe-go does not give its delays away.", "Delay/",
		[]column{{"ns", "sec/delay", 1e9}, {"allocations per operation", "allocs/op", 1}}},
	{"One delay, on all processors", "They share what the library allows to be shared.", "DelayParallel/", []column{{"ns", "sec/delay", 1e9}}},
	{"Waiting items", "[waiting](waiting): the number of items that wait at once, each for its own delay. Bytes are heap and stacks per item.", "Waiting/",
		[]column{{"bytes each", "B/item", 1}, {"ms late, median", "ms-late-p50", 1}, {"ms late, 99 of 100", "ms-late-p99", 1}}},
}

// between is the section of one kind of benchmarks/between.
func between(title, text, kind string) section {
	text += " What each guarantees stands in [between](between/between_test.go)."
	return section{title, text, "Between/" + kind + "/", []column{{"ns", "sec/item", 1e9}, {"allocations", "allocs/op", 1.0 / 20_000}}}
}

// markdown returns RESULTS.md.
func (r *raw) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Results

%s on %s; %s; %s. Medians of interleaved runs, each with half its 95 %% confidence interval. All do the same
work in one process, and the results are checked for equality. The raw results are in [bench.txt](bench.txt), what each library
does in hard cases in [CORRECTNESS.md](CORRECTNESS.md). Versions: %s.
`, "`"+r.config["command"]+"`", r.config["date"], r.config["cpu"], r.config["toolchain"], r.config["versions"])
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n\n| |", s.title, s.text)
		for _, c := range s.columns {
			fmt.Fprintf(&b, " %s |", c.head)
		}
		fmt.Fprintf(&b, "\n|---|%s\n", strings.Repeat("--:|", len(s.columns)))
		for _, name := range r.under(s.prefix, s.columns[0].unit) {
			fmt.Fprintf(&b, "| %s |", strings.TrimPrefix(name, s.prefix))
			for i, c := range s.columns {
				v, ok := r.summary(name, c.unit)
				switch {
				case !ok:
					b.WriteString(" |")
				case i == 0 && v.Center > 0:
					fmt.Fprintf(&b, " %s %s |", digits(v.Center*c.factor), v.PctRangeString())
				default:
					fmt.Fprintf(&b, " %s |", digits(v.Center*c.factor))
				}
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n## Ratios\n\n`make bench-check` measures these again, and fails past 1.3 times.\n\n| ratio | |\n|---|--:|\n")
	for i, q := range ratios {
		if v, err := r.ratio(i); err == nil {
			fmt.Fprintf(&b, "| %s | %s |\n", q.title, digits(v))
		}
	}
	return b.Bytes()
}

// digits prints three digits that mean something.
func digits(v float64) string {
	switch {
	case v < 0.005:
		return "0"
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	case v < 100:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.0f", v)
}

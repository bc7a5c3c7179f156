// Command report writes RESULTS.md from the raw results in bench.txt. Run it in the folder benchmarks.
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
)

func main() {
	r, err := load("bench.txt")
	if err == nil {
		err = os.WriteFile("RESULTS.md", r.markdown(), 0o644)
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
	{"One item through map, filter and reduce", `[items](items): a million ints; the functions are not inlined, except for "inlined". The context can be cancelled, except for
"inlined" and "background". The loops, iter.Seq and retrywhen are measured by the CPU time of their thread, the others by the
clock. rill and conc have no retry of streams.`, "Items/plain/", []column{{"ns", "sec/item", 1e9}, {"allocations", "allocs/op", 1e-6}}},
	{"The same under the library's own retry", "Around map and filter; nothing fails.", "Items/retried/",
		[]column{{"ns", "sec/item", 1e9}, {"allocations", "allocs/op", 1e-6}}},
	{"A chain in several forms", `[chains](items/chains_test.go): Range, Map, Filter, Reduce and ForEach, unless the name says otherwise, and the loop that does
the same; a loop under a context that can be cancelled looks at it before each item. CPU time of the thread, the least of many runs.
"literals" can be inlined, "functions" cannot. "in-a-variable" is built once.`,
		"Chain/", []column{{"ns", "sec/item", 1e9}, {"allocations", "allocs/op", 1e-6}}},
	between("One item from a goroutine to the consumer", "[between](between/between_test.go) lists the guarantees. The channel is unbuffered, has room for 128 items, or the consumer acknowledges each item.", "hand-over"),
	between("Through Timeout", "The channel has a timer in its select, as in code written by hand.", "timeout"),
	between("Through Merge", "Two sources.", "merge"),
	between("Through Zip", "Two sources.", "zip"),
	between("Through Share", "Two consumers.", "share"),
	between("Through Batch", "100 items a batch.", "batch"),
	between("Through FlatMap", "Streams of one item, four at once, and pools of four.", "flatmap"),
	{"One failure and the subscription after it", `[resubscribe](resubscribe): 10,000 failures in a row with no delay, then one item. "Held" is the memory, heap and stacks, that is in
use when the last attempt begins, beyond that in use before the run.`, "Resubscribe/",
		[]column{{"ns", "sec/failure", 1e9}, {"allocations", "allocs/op", 1e-4}, {"bytes allocated", "B/op", 1e-4}, {"bytes held", "B-held/failure", 1}}},
	{"One call that succeeds at once", "[calls](calls).", "Call/first-try/", []column{{"ns", "sec/op", 1e9}, {"allocations", "allocs/op", 1}}},
	{"One call that fails ten times", "Without a delay.", "Call/ten-failures/", []column{{"ns", "sec/op", 1e9}, {"allocations", "allocs/op", 1}}},
	{"One delay", "The first eight delays of an operation, exponential with jitter and a cap. failsafe-go does not expose its delays.", "Delay/",
		[]column{{"ns", "sec/delay", 1e9}, {"allocations per operation", "allocs/op", 1}}},
	{"One delay, on all processors", "The goroutines share what the library allows them to share.", "DelayParallel/", []column{{"ns", "sec/delay", 1e9}}},
	{"Waiting items", "[waiting](waiting): the number of items that wait at once, each for its own delay. Bytes are heap and stacks per item.", "Waiting/",
		[]column{{"bytes each", "B/item", 1}, {"ms late, median", "ms-late-p50", 1}, {"ms late, p99", "ms-late-p99", 1}}},
}

// between is the section of one kind of benchmarks/between.
func between(title, text, kind string) section {
	return section{title, text, "Between/" + kind + "/", []column{{"ns", "sec/item", 1e9}, {"allocations", "allocs/op", 1.0 / 20_000}}}
}

// markdown returns RESULTS.md.
func (r *raw) markdown() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Results

%s on %s; %s; %s. Medians of interleaved runs, each with half its 95 %% confidence interval. All libraries do
the same work in one process, and their results are checked for equality. [bench.txt](bench.txt) has the raw results,
[CORRECTNESS.md](CORRECTNESS.md) what each library does in hard cases. Versions: %s.
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
	b.WriteString("\n## Ratios\n\n`make bench-check` measures these ratios again, and fails if one exceeds its bound. Without a bound\nit may be 1.15 times its old value, in a noisy run up to 1.3 times. A ratio is the median of those of the rounds.\n\n| ratio | | bound |\n|---|--:|--:|\n")
	for i, q := range ratios {
		if v, err := r.ratio(i); err == nil {
			bound := ""
			if q.most > 0 {
				bound = digits(q.most)
			}
			fmt.Fprintf(&b, "| %s | %s | %s |\n", q.title, digits(v.Center), bound)
		}
	}
	return b.Bytes()
}

// digits formats v with three significant digits.
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

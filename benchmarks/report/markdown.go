package main

import (
	"fmt"
	"slices"
	"strings"
)

// column is one figure of a table's rows.
type column struct {
	head   string
	name   string // of the benchmark, with %s for the way
	unit   string
	factor float64
	spread bool // say how sure it is
}

// markdown returns RESULTS.md.
func (r *results) markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Results

Written by `+"`%s`"+` on %s: %s; %s. Medians of %d interleaved runs, by benchstat; ± is half the 95 %% confidence
interval. Everybody does the same work in one process, and the results are checked for equality. What each library does
in hard cases is in [CORRECTNESS.md](CORRECTNESS.md); how each is called is in the folder that a section names.

`, r.Command, r.Date, r.Machine, r.Go, r.Rounds)
	var versions []string
	for path, version := range r.Versions {
		versions = append(versions, path+" "+version)
	}
	slices.Sort(versions)
	fmt.Fprintf(&b, "Versions: %s.\n", strings.Join(versions, ", "))

	r.table(&b, "One item through map, filter and reduce", `[items](items): a million ints, the functions not inlined. "Retried" has the library's own retry around map and filter,
and nothing fails. rill and conc have no retry of streams. Where it does not say otherwise the context can be cancelled.`, ways("Items/plain/", r), []column{
		{head: "ns per item", name: "Items/plain/%s", unit: "sec/item", factor: 1e9, spread: true},
		{head: "allocations per item", name: "Items/plain/%s", unit: "allocs/op", factor: 1 / r.items()},
	})
	r.table(&b, "", "Retried:", ways("Items/retried/", r), []column{
		{head: "ns per item", name: "Items/retried/%s", unit: "sec/item", factor: 1e9, spread: true},
		{head: "allocations per item", name: "Items/retried/%s", unit: "allocs/op", factor: 1 / r.items()},
	})
	r.table(&b, "One failure and the subscription after it", `[resubscribe](resubscribe): 10,000 failures in a row with no delay, then one item. "Held" is what is in use when the last
attempt begins, heap and stacks, beyond what was before.`, ways("Resubscribe/", r), []column{
		{head: "ns", name: "Resubscribe/%s", unit: "sec/failure", factor: 1e9, spread: true},
		{head: "allocations", name: "Resubscribe/%s", unit: "allocs/op", factor: 1e-4},
		{head: "bytes allocated", name: "Resubscribe/%s", unit: "B/op", factor: 1e-4},
		{head: "bytes held", name: "Resubscribe/%s", unit: "B-held/failure", factor: 1},
	})
	r.table(&b, "One call", `[calls](calls): a function that succeeds at once, and one that fails ten times with no delay.`, ways("Call/first-try/", r), []column{
		{head: "first try, ns", name: "Call/first-try/%s", unit: "sec/op", factor: 1e9, spread: true},
		{head: "allocations", name: "Call/first-try/%s", unit: "allocs/op", factor: 1},
		{head: "ten failures, ns", name: "Call/ten-failures/%s", unit: "sec/op", factor: 1e9, spread: true},
		{head: "allocations", name: "Call/ten-failures/%s", unit: "allocs/op", factor: 1},
	})
	r.table(&b, "One delay", `[calls](calls): the first eight delays of an operation, exponential with jitter and a cap, by one goroutine and by as many as there
are processors, which share what the library allows to be shared. failsafe-go does not give its delays away.`, ways("Delay/", r), []column{
		{head: "ns", name: "Delay/%s", unit: "sec/delay", factor: 1e9, spread: true},
		{head: "ns in parallel", name: "DelayParallel/%s", unit: "sec/delay", factor: 1e9, spread: true},
		{head: "allocations per operation", name: "Delay/%s", unit: "allocs/op", factor: 1},
	})
	r.waiting(&b)

	b.WriteString("\n## Ratios\n\n`make bench-check` compares these with its own run, and fails past 1.3 times.\n\n| ratio | |\n|---|--:|\n")
	for i, q := range ratios {
		if v, err := r.ratio(i); err == nil {
			fmt.Fprintf(&b, "| %s | %s |\n", q.title, digits(v))
		}
	}
	b.WriteString("\n## Targets\n\nWhy some are missed is in [design-decisions.md](../docs/design-decisions.md), \"What the hot paths cost\".\n\n| what | at most | measured | |\n|---|--:|--:|---|\n")
	for _, t := range targets {
		if v, err := t.measure(r); err == nil {
			verdict := "met"
			if v > t.most {
				verdict = "missed"
			}
			fmt.Fprintf(&b, "| %s | %v %s | %s %s | %s |\n", t.title, t.most, t.unit, digits(v), t.unit, verdict)
		}
	}
	return b.String()
}

// table writes one table, with a title above it unless that is empty.
func (r *results) table(b *strings.Builder, title, text string, ways []string, columns []column) {
	if title != "" {
		fmt.Fprintf(b, "\n## %s\n", title)
	}
	fmt.Fprintf(b, "\n%s\n\n| |", text)
	for _, c := range columns {
		fmt.Fprintf(b, " %s |", c.head)
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", len(columns)) + "\n")
	for _, way := range ways {
		fmt.Fprintf(b, "| %s |", r.label(way))
		for _, c := range columns {
			name := fmt.Sprintf(c.name, way)
			v, ok := r.get(name, c.unit)
			switch s := r.spread(name, c.unit); {
			case !ok:
				b.WriteString(" |")
			case c.spread && s != "":
				fmt.Fprintf(b, " %s ± %s |", digits(v*c.factor), s)
			default:
				fmt.Fprintf(b, " %s |", digits(v*c.factor))
			}
		}
		b.WriteString("\n")
	}
}

// waiting writes the table of the waiting items, one row for each number of them.
func (r *results) waiting(b *strings.Builder) {
	b.WriteString(`
## Waiting items

[waiting](waiting): so many items wait at once, each for its own delay. Bytes are heap and stacks for each item that waits.

| items | | bytes each | late, median | late, 99 of 100 |
|--:|---|--:|--:|--:|
`)
	for _, items := range []int{10_000, 100_000, 1_000_000} {
		for _, way := range []string{"goroutine", "AfterFunc", "MapRetry"} {
			name := fmt.Sprintf("Waiting/%s/items=%d", way, items)
			size, ok := r.get(name, "B/item")
			if !ok {
				continue
			}
			p50, _ := r.get(name, "ms-late-p50")
			p99, _ := r.get(name, "ms-late-p99")
			fmt.Fprintf(b, "| %d | %s | %.0f | %s ms | %s ms |\n", items, r.label(way), size, digits(p50), digits(p99))
		}
	}
}

// ways returns the last parts of the names that begin with the prefix, in the order they were measured in.
func ways(prefix string, r *results) (w []string) {
	for _, f := range r.Figures {
		if way, ok := strings.CutPrefix(f.Name, prefix); ok && !slices.Contains(w, way) {
			w = append(w, way)
		}
	}
	return w
}

// items returns how many items an op of Items took.
func (r *results) items() float64 {
	op, ok1 := r.get("Items/plain/loop", "sec/op")
	item, ok2 := r.get("Items/plain/loop", "sec/item")
	if !ok1 || !ok2 || item == 0 {
		return 1
	}
	return op / item
}

// digits prints three digits that mean something.
func digits(v float64) string {
	switch a := max(v, -v); {
	case a < 0.005:
		return "0"
	case a < 10:
		return fmt.Sprintf("%.2f", v)
	case a < 100:
		return fmt.Sprintf("%.1f", v)
	}
	text := fmt.Sprintf("%.0f", v)
	if v < 0 {
		return text
	}
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

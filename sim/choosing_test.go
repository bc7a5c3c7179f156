package sim

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

var update = flag.Bool("update", false, "write the tables of docs/choosing.md anew")

// The tables of docs/choosing.md are computed here, and compared.
func TestChoosingTablesAreWhatIsComputed(t *testing.T) {
	if raced {
		t.Skip("the tables are compared without the race detector")
	}
	const path = "../docs/choosing.md"
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	got := string(text)
	for name, table := range map[string]func(*testing.T) string{
		"question": questionTable, "waits": waitsTable, "windows": windowsTable, "processes": processesTable,
		"boundary": boundaryTable, "occ": occTable, "outage": outageTable, "budget": budgetTable,
	} {
		begin, end := "<!-- computed: "+name+" -->\n", "<!-- end: "+name+" -->\n"
		before, rest, ok := strings.Cut(got, begin)
		old, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no %s", path, begin)
		}
		want := "\n" + table(t) + "\n"
		if old != want && !*update {
			t.Errorf("%s, table %s is\n%s\nwant (go test ./sim -update writes it)\n%s", path, name, old, want)
		}
		got = before + begin + want + end + after
	}
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// markdown lays out a table, its first row the head, and aligns all columns but the first to the right.
func markdown(rows [][]string) string {
	width := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			width[i] = max(width[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			pad := strings.Repeat(" ", width[i]-len([]rune(cell)))
			if i == 0 {
				b.WriteString("| " + cell + pad)
			} else {
				b.WriteString(" | " + pad + cell)
			}
		}
		b.WriteString(" |\n")
		if n == 0 {
			for i, w := range width {
				if i == 0 {
					b.WriteString("|" + strings.Repeat("-", w+2))
				} else {
					b.WriteString("|" + strings.Repeat("-", w+1) + ":")
				}
			}
			b.WriteString("|\n")
		}
	}
	return b.String()
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f", d.Seconds()) }

func questionTable(t *testing.T) string {
	all, err := answered()
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]string{{"strategy", "total wait, s", "peak / mean", "dead time", "mean CV", "CV but the first"}}
	for _, name := range []string{"constant", "exponential", "sidekiq", "buckets", "tiled", "tiled, process-each", "tiled, by-key", "tiled, by-ordinal"} {
		f := all[name]
		rows = append(rows, []string{
			name, fmt.Sprintf("%.0f", f.Total.Seconds()), fmt.Sprintf("%.1f", f.PeakOverMean),
			fmt.Sprintf("%.0f %%", 100*f.DeadShare), fmt.Sprintf("%.2f", f.MeanCV), fmt.Sprintf("%.2f", mean(f.CV[1:])),
		})
	}
	return markdown(rows)
}

func waitsTable(t *testing.T) string {
	all, err := answered()
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]string{{"strategy", "first wait, mean", "longest", "CV of wait 1", "2", "3", "4", "5", "of the total"}}
	for _, name := range []string{"sidekiq", "buckets", "tiled"} {
		f := all[name]
		row := []string{name, seconds(f.FirstMean) + " s", seconds(f.FirstMost) + " s"}
		for _, cv := range append(f.CV[:5:5], f.TotalCV) {
			row = append(row, fmt.Sprintf("%.2f", cv))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

func windowsTable(t *testing.T) string {
	q := openQuestion()
	random := q.Strategies[4]
	random.Placement = ProcessEach
	strategies := []Strategy{q.Strategies[2], q.Strategies[4], random}
	rows := [][]string{{"width", "sidekiq: peak / mean", "dead time", "tiled: peak / mean", "dead time", "tiled, process-each: peak / mean", "dead time"}}
	for _, width := range []time.Duration{500, 1000, 2000, 3500, 5000, 8000} {
		c := Comparison{Strategies: strategies, Jobs: q.Jobs, Retries: q.Retries, Runs: q.Runs,
			PeakWindow: width * time.Millisecond, DeadWindow: width * time.Millisecond}
		figures, err := c.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		row := []string{fmt.Sprint(width * time.Millisecond)}
		for _, f := range figures {
			row = append(row, fmt.Sprintf("%.1f", f.PeakOverMean), fmt.Sprintf("%.0f %%", 100*f.DeadShare))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// processesTable is of the open question's tiled jobs, divided among processes each of which has a golden sequence of
// its own.
func processesTable(t *testing.T) string {
	q := openQuestion()
	const runs = 200
	rows := [][]string{{"processes", "jobs of each", "peak / mean", "dead time"}}
	for _, processes := range []int{1, 2, 5, 10, 20, 100} {
		var peak, dead float64
		for run := range runs {
			all := HerdResult{Jobs: q.Jobs, Retries: q.Retries}
			for process := range processes {
				r := runHerd(t, Herd{Policy: q.Strategies[4].Policy, Jobs: q.Jobs / processes, Retries: q.Retries, Seed: uint64(run*processes + process)})
				all.Times = append(all.Times, r.Times...)
				all.End = max(all.End, r.End)
			}
			w, err := all.Windows(q.PeakWindow, q.DeadWindow)
			if err != nil {
				t.Fatal(err)
			}
			peak += w[0].PeakOverMean / runs
			dead += w[1].DeadShare / runs
		}
		rows = append(rows, []string{fmt.Sprint(processes), fmt.Sprint(q.Jobs / processes), fmt.Sprintf("%.1f", peak), fmt.Sprintf("%.0f %%", 100*dead)})
	}
	return markdown(rows)
}

// boundaries are callers, and the highest load from which a server recovers from them after a standstill of 5 s: as it
// is, if it drops the requests of those who have left, and with a queue of 50.
func boundaries(t *testing.T) (callers []Callers, highest [3][]float64) {
	three := func(b backoff.Backoff) Layer {
		return Layer{Policy: retry.New(b, retry.Limit(3), retry.AttemptTimeout(time.Second))}
	}
	curve := backoff.Exponential(100*time.Millisecond, 2).Cap(10 * time.Second)
	budget := retrying(3)
	budget.Budget = tenth
	callers = []Callers{
		{"no retry", []Layer{retrying(0)}},
		{"1 retry, exponential, full", []Layer{retrying(1)}},
		{"3 retries, constant 1 s", []Layer{three(backoff.Constant(time.Second))}},
		{"3 retries, exponential, full", []Layer{retrying(3)}},
		{"3 retries, exponential, tiled", []Layer{three(curve.Tiled())}},
		{"3 retries, exponential from 5 s, full", []Layer{three(backoff.Exponential(5*time.Second, 2).Cap(time.Minute).Jitter(jitter.Full))}},
		{"3 retries in each of 3 layers, full", []Layer{retrying(3), retrying(3), retrying(3)}},
		{"3 retries, exponential, full, and a budget", []Layer{budget}},
	}
	b := Boundary{Callers: callers, Runs: 2}
	for load := 5.0; load <= 95; load += 5 {
		b.Loads = append(b.Loads, load)
	}
	for i, change := range []func(*Overload){func(*Overload) {}, func(o *Overload) { o.Drop = true }, func(o *Overload) { o.Queue = 50 }} {
		b.Overload = stalled(0, 5*time.Second)
		b.Overload.Horizon = 2 * time.Minute
		change(&b.Overload)
		r, err := b.Run(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		highest[i] = r.Highest
	}
	return callers, highest
}

func boundaryTable(t *testing.T) string {
	callers, highest := boundaries(t)
	rows := [][]string{{"callers", "recovers up to", "if it drops the requests of those who left", "with a queue of at most 50"}}
	for i, c := range callers {
		row := []string{c.Name}
		for _, h := range highest {
			row = append(row, fmt.Sprintf("%.0f/s", h[i]))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

func occTable(t *testing.T) string {
	points, err := hundred()
	if err != nil {
		t.Fatal(err)
	}
	rows := [][]string{{"strategy", "10 clients: calls", "time, ms", "30 clients: calls", "time, ms", "100 clients: calls", "time, ms"}}
	for _, s := range classics() {
		row := []string{s.Name}
		for _, p := range points {
			if p.Strategy == s.Name {
				row = append(row, fmt.Sprintf("%.0f", p.Calls.Mean), fmt.Sprintf("%.0f", float64(p.End.Mean)/1e6))
			}
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// exponential is what the outages are met with.
var exponential = backoff.Exponential(time.Second, 2).Cap(30 * time.Second)

// outages is the mean of ten runs, with seeds 0 to 9.
type outages struct{ perClient, attempts, retries, givenUp, peak, failures, after float64 }

func tenOutages(t *testing.T, o Outage) (m outages) {
	o.Clients, o.Down, o.Capacity = 1000, time.Minute, 20
	const runs = 10
	for o.Seed = range runs {
		r := runOutage(t, o)
		m.perClient += r.PerClient.Mean / runs
		m.attempts += float64(r.Attempts) / runs
		m.retries += float64(r.Attempts-int64(r.Clients)-r.GivenUp) / runs // each given up is begun anew
		m.givenUp += float64(r.GivenUp) / runs
		m.peak += float64(r.PeakAfter) / runs
		m.failures += float64(r.FailuresAfter) / runs
		m.after += (r.End - o.Down).Seconds() / runs
	}
	return m
}

func outageTable(t *testing.T) string {
	rows := [][]string{{"backoff", "attempts per client", "peak per second", "failures", "all served after", "later clients: failures", "all served after"}}
	for _, s := range []Strategy{
		{Name: "constant 5 s", Policy: retry.New(backoff.Constant(5 * time.Second))},
		{Name: "exponential", Policy: retry.New(exponential)},
		{Name: "exponential, 15 %", Policy: retry.New(exponential.Jitter(jitter.Default))},
		{Name: "exponential, equal", Policy: retry.New(exponential.Jitter(jitter.Equal))},
		{Name: "exponential, full", Policy: retry.New(exponential.Jitter(jitter.Full))},
		{Name: "decorrelated", Policy: retry.New(backoff.Decorrelated(time.Second).Cap(30 * time.Second))},
		{Name: "exponential, tiled", Policy: retry.New(exponential.Tiled())},
		{Name: "exponential, tiled, process-each", Policy: retry.New(exponential.Tiled()), Placement: ProcessEach},
		{Name: "exponential, tiled, by-ordinal", Policy: retry.New(exponential.Tiled()), Placement: ByOrdinal},
	} {
		o := Outage{Policy: s.Policy, Placement: s.Placement}
		together := tenOutages(t, o)
		o.Arrive = time.Minute
		later := tenOutages(t, o)
		rows = append(rows, []string{
			s.Name, fmt.Sprintf("%.1f", together.perClient), fmt.Sprintf("%.0f", together.peak), fmt.Sprintf("%.0f", together.failures),
			fmt.Sprintf("%.0f s", together.after), fmt.Sprintf("%.0f", later.failures), fmt.Sprintf("%.0f s", later.after),
		})
	}
	return markdown(rows)
}

func budgetTable(t *testing.T) string {
	rows := [][]string{{"limits", "attempts", "of them retries", "operations given up", "all served after"}}
	for _, test := range []struct {
		name   string
		limit  []retry.Option
		budget *Budget
	}{
		{"none", nil, nil},
		{"3 retries", []retry.Option{retry.Limit(3)}, nil},
		{"3 retries, and the budget", []retry.Option{retry.Limit(3)}, &Budget{Capacity: 100, Cost: 1, Refund: 0.1, Refill: 10}},
	} {
		m := tenOutages(t, Outage{Policy: retry.New(exponential.Jitter(jitter.Full), test.limit...), Budget: test.budget, Return: 20 * time.Second})
		rows = append(rows, []string{test.name, fmt.Sprintf("%.0f", m.attempts), fmt.Sprintf("%.0f", m.retries),
			fmt.Sprintf("%.0f", m.givenUp), fmt.Sprintf("%.0f s", m.after)})
	}
	return markdown(rows)
}

package sim

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

var update = flag.Bool("update", false, "write the computed tables into docs/choosing.md")

// The tables of docs/choosing.md are the ones that are computed here.
func TestChoosingTablesAreWhatIsComputed(t *testing.T) {
	if raced {
		t.Skip("the tables are compared without the race detector")
	}
	const path = "../docs/choosing.md"
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	text, err := os.ReadFile(path)
	must(t, err)
	text = bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n"))
	got := string(text)
	for name, table := range map[string]func(*testing.T) string{
		"boundary": boundaryTable, "occ": occTable, "outage": outageTable, "outages": outagesTable, "budget": budgetTable, "budgets": fullBudgets, "loops": loopTable,
	} {
		begin, end := "<!-- computed: "+name+" -->\n", "<!-- end: "+name+" -->\n"
		before, rest, ok := strings.Cut(got, begin)
		old, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Fatalf("%s has no %s", path, begin)
		}
		if name == "boundary" && !nightly && !*update { // more computation than all others
			continue
		}
		want := "\n" + table(t) + "\n"
		if old != want && !*update {
			t.Errorf("%s, table %s is\n%s\nwant (go test ./sim -update writes it)\n%s", path, name, old, want)
		}
		got = before + begin + want + end + after
	}
	if *update {
		must(t, os.WriteFile(path, []byte(got), 0o644))
	}
}

// markdown returns a table whose first row is the head. All columns but the first are aligned to the right.
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

// boundaries are callers, and the highest loads from which their server recovers after a standstill of 5 s: with an
// unbounded queue, when it drops the requests of callers that have left, and with a queue of 50.
func boundaries(t *testing.T) (callers []Callers, highest [3][]float64) {
	three := func(b backoff.Backoff) Layer {
		return Layer{Policy: retry.New(b, retry.Limit(3), retry.AttemptTimeout(time.Second))}
	}
	curve := backoff.Exponential(100*time.Millisecond, 2).Cap(10 * time.Second)
	budget := retrying(3)
	budget.Policy = budget.Policy.With(tenth())
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
	for _, n := range []int{20, 200, 2000} {
		each := budget
		each.Processes = n
		callers = append(callers, Callers{fmt.Sprintf("… and a budget in each of %d processes", n), []Layer{each}})
	}
	b := Boundary{Callers: callers, Runs: 2}
	for load := 5.0; load <= 95; load += 5 {
		b.Loads = append(b.Loads, load)
	}
	for i, change := range []func(*Overload){func(*Overload) {}, func(o *Overload) { o.Drop = true }, func(o *Overload) { o.Queue = 50 }} {
		b.Overload = stalled(0, 5*time.Second)
		b.Overload.Trigger.At, b.Overload.Horizon = 5*time.Second, 75*time.Second
		change(&b.Overload)
		r := mustRun(t, b)
		highest[i] = r.Highest
		for k, c := range callers { // few runs find a load that many runs confirm
			for once := (Boundary{Overload: b.Overload, Callers: []Callers{c}, Runs: 20}); highest[i][k] > 0; highest[i][k] -= 5 {
				once.Loads = []float64{highest[i][k]}
				r := mustRun(t, once)
				if r.Points[0].Recovered == once.Runs {
					break
				}
			}
		}
	}
	return callers, highest
}

// fullBudgets has the recovery of a server of 100 a second, under a load of 80, whose callers have a budget in each
// process.
func fullBudgets(t *testing.T) string {
	rows := [][]string{{"processes", "no retries, s", "budget of 10 each", "budget of 2 each", "budget of 1 each"}}
	for _, n := range []int{1, 20, 200, 2000} {
		row := []string{fmt.Sprint(n), afterStall(t, retrying(0))}
		for _, capacity := range []float64{10, 2, 1} {
			row = append(row, afterStall(t, budgeted(n, capacity, 0)))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// budgeted returns the callers of n processes, each with a budget of which some tokens are spent at the beginning.
func budgeted(n int, capacity, spent float64) Layer {
	b := retry.NewBudget(capacity, 1, 0.1)
	b.Add(-spent)
	l := retrying(3)
	l.Policy, l.Processes = l.Policy.With(retry.WithBudget(b)), n
	return l
}

// afterStall returns how long after a stall of 5 s a server recovers: the median of ten runs.
func afterStall(t *testing.T, l Layer) string {
	t.Helper()
	var after [10]time.Duration
	var runs sync.WaitGroup
	for seed := range after {
		runs.Go(func() {
			o := stalled(80, 5*time.Second, l)
			o.Horizon, o.Seed = 20*time.Minute, uint64(seed)
			r, err := o.Run(t.Context())
			if after[seed] = r.Recovery.After; err != nil || r.Recovery.Verdict == NotRecovered {
				t.Errorf("%v, %+v", err, r.Recovery)
			}
		})
	}
	runs.Wait()
	slices.Sort(after[:])
	return fmt.Sprintf("%.0f", after[5].Seconds())
}

// loopTable has callers in loops of their own around calls with three retries.
func loopTable(t *testing.T) string {
	rows := [][]string{{"callers", "requests in a minute", "refused", "operations that succeed"}}
	inner := retry.New(full, retry.Limit(3))
	budgeted := inner.With(retry.WithBudget(retry.NewBudget(10, 1, 0.1)))
	outer := Layer{Policy: retry.New(backoff.Exponential(time.Second, 2).Cap(30 * time.Second).Jitter(jitter.Full))}
	for _, test := range []struct {
		name  string
		inner retry.Policy
		outer []Layer
	}{{"a loop around 3 retries", inner, nil}, {"a loop around 3 retries and a budget", budgeted, nil}, {"… and an outer policy that waits", budgeted, []Layer{outer}}} {
		o := looping(test.inner)
		o.Layers = append(test.outer, o.Layers...)
		r := mustRun(t, o)
		rows = append(rows, []string{test.name, strconv.FormatInt(r.Offered, 10), strconv.FormatInt(r.Refused, 10), strconv.FormatInt(r.Succeeded, 10)})
	}
	return markdown(rows)
}

// The rule of docs/choosing.md and of NewBudget: the tokens of all processes, divided by the capacity that the load
// leaves, are the time by which budgets delay a recovery. A budget that is empty at first fills while all is well.
func TestTheTokensOfAllProcessesDelayARecovery(t *testing.T) {
	if raced {
		t.Skip("it takes long with the race detector")
	}
	after := func(l Layer, load float64) float64 {
		o := stalled(load, 5*time.Second, l)
		o.Horizon = 20 * time.Minute
		return mustRun(t, o).Recovery.After.Seconds()
	}
	for _, load := range []float64{50, 80} {
		none := after(retrying(0), load)
		for _, n := range []int{20, 200, 1000} {
			for _, capacity := range []float64{10, 2, 1} {
				want := float64(n) * capacity / (100 - load)
				if got := after(budgeted(n, capacity, 0), load) - none; got < 0.6*want-1 || got > 1.3*want+5 {
					t.Errorf("%d processes with %v tokens at %v a second: %v s later than without retries, want about %.0f s", n, capacity, load, got, want)
				}
			}
		}
	}
	filled := func(spent float64, healthy time.Duration) float64 {
		o := stalled(80, 5*time.Second, budgeted(200, 10, spent))
		o.Trigger.At += healthy
		o.Horizon = o.Trigger.At + 20*time.Minute
		return mustRun(t, o).Recovery.After.Seconds()
	}
	if full, empty, later := filled(0, 0), filled(10, 0), filled(10, 6*time.Minute); full < 100 || empty > 40 || later < 100 {
		t.Errorf("recovered after %v s with full budgets, %v s with empty ones, %v s with budgets that were empty 6 minutes before", full, empty, later)
	}
}
func boundaryTable(t *testing.T) string {
	callers, highest := boundaries(t)
	rows := [][]string{{"callers", "recovers up to", "if it drops requests whose callers left", "with a queue of at most 50"}}
	for i, c := range callers {
		row := []string{c.Name}
		for _, h := range highest {
			row = append(row, fmt.Sprintf("%.0f/s", h[i]))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

// contended has the classics and a tiled constant, for 10 to 300 clients.
func contended() ([]Strategy, []SweepPoint, error) {
	points, err := contention()
	return contenders(), points, err
}

var contention = sync.OnceValues(func() ([]SweepPoint, error) {
	return Sweep{Strategies: contenders(), Clients: []int{10, 30, 100, 300}, Runs: 200, Network: DefaultNetwork}.Run(context.Background())
})

func contenders() []Strategy {
	return append(classics(), Strategy{Name: "constant 2 s, tiled", Policy: retry.New(backoff.Constant(2 * time.Second).Tiled())})
}

func occTable(t *testing.T) string {
	strategies, points, err := contended()
	must(t, err)
	rows := [][]string{{"strategy", "10 clients: calls", "time, ms", "30: calls", "time", "100: calls", "time", "300: calls", "time"}}
	for _, s := range strategies {
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

// withNumbers reports whether a strategy is as in one process.
func withNumbers(strategy string) bool { return strings.HasSuffix(strategy, "by-ordinal") }

// exponential is the backoff of the outages.
var exponential = backoff.Exponential(time.Second, 2).Cap(30 * time.Second)

// outages returns the mean of several runs, with seeds from 0 on, and their latest end.
type outages struct{ perClient, attempts, retries, givenUp, peak, failures, after, latest float64 }

func manyOutages(t *testing.T, o Outage, runs float64) (m outages) {
	o.Clients, o.Down, o.Capacity = 1000, time.Minute, 20
	for o.Seed = range uint64(runs) {
		r := runOutage(t, o)
		m.latest = max(m.latest, (r.End - o.Down).Seconds())
		m.perClient += r.PerClient.Mean / runs
		m.attempts += float64(r.Attempts) / runs
		m.retries += float64(r.Attempts-int64(r.Clients)-r.GivenUp) / runs // a client that gave up starts again
		m.givenUp += float64(r.GivenUp) / runs
		m.peak += float64(r.PeakAfter) / runs
		m.failures += float64(r.FailuresAfter) / runs
		m.after += (r.End - o.Down).Seconds() / runs
	}
	return m
}

// oneWave is for a thousand clients and a server of 20 a second.
var oneWave = backoff.Constant(Wave(1000, 20))

// outageStrategies are the strategies of the tables of outages.
func outageStrategies() []Strategy {
	return []Strategy{
		{"constant 5 s", retry.New(backoff.Constant(5 * time.Second)), OneProcess, 0},
		{"exponential", retry.New(exponential), OneProcess, 0},
		{"exponential, 15 %", retry.New(exponential.Jitter(jitter.Default)), OneProcess, 0},
		{"exponential, equal", retry.New(exponential.Jitter(jitter.Equal)), OneProcess, 0},
		{"exponential, full", retry.New(exponential.Jitter(jitter.Full)), OneProcess, 0},
		{"decorrelated", retry.New(backoff.Decorrelated(time.Second).Cap(30 * time.Second)), OneProcess, 0},
		{"exponential, tiled", retry.New(exponential.Tiled()), OneProcess, 0},
		{"exponential, tiled, a process each", retry.New(exponential.Tiled()), OneProcess, 1000},
		{"exponential, tiled, by-ordinal", retry.New(exponential.Tiled()), ByOrdinal, 0},
		{"constant 55 s, tiled", retry.New(oneWave.Tiled()), OneProcess, 0},
		{"constant 55 s, tiled, a process each", retry.New(oneWave.Tiled()), OneProcess, 1000},
		{"constant 55 s, tiled, by-ordinal", retry.New(oneWave.Tiled()), ByOrdinal, 0},
		{"constant 22 s, full", retry.New(backoff.Constant(22 * time.Second).Jitter(jitter.Full)), OneProcess, 0},
		{"1 s, then 55 s, tiled", retry.New(backoff.Table(time.Second, Wave(1000, 20)).Tiled()), OneProcess, 0},
		{"1 s, then 55 s, tiled, a process each", retry.New(backoff.Table(time.Second, Wave(1000, 20)).Tiled()), OneProcess, 1000},
	}
}

func outageTable(t *testing.T) string {
	rows := [][]string{{"backoff", "attempts per client", "peak per second", "failures", "all served after, s", "random arrivals: failures", "all served after, s"}}
	for _, s := range outageStrategies() {
		if withNumbers(s.Name) {
			continue
		}
		o := Outage{Policy: s.Policy, Placement: s.Placement, Processes: s.Processes}
		together := manyOutages(t, o, 10)
		o.Arrive = time.Minute
		later := manyOutages(t, o, 10)
		rows = append(rows, []string{
			s.Name, fmt.Sprintf("%.1f", together.perClient), fmt.Sprintf("%.0f", together.peak), fmt.Sprintf("%.0f", together.failures),
			fmt.Sprintf("%.0f", together.after), fmt.Sprintf("%.0f", later.failures), fmt.Sprintf("%.0f", later.after),
		})
	}
	return markdown(rows)
}

// lengths has the outages' strategies, for outages of 0.5 to 60 s.
var lengths = sync.OnceValues(func() (*Choices, error) {
	return Choose{
		Clients: 1000, Capacity: 20, Runs: 10, Strategies: outageStrategies(),
		Outages: []time.Duration{500 * time.Millisecond, 5 * time.Second, time.Minute},
	}.Run(context.Background())
})

func outagesTable(t *testing.T) string {
	all, err := lengths()
	must(t, err)
	head := []string{"backoff", "first wait, s"}
	for _, o := range all.Choices[0].Outages[:2] { // the table before has the last
		head = append(head, fmt.Sprintf("%vs: failures", o.Down.Seconds()), "after, s")
	}
	rows := [][]string{head}
	for _, c := range all.Choices {
		if withNumbers(c.Name) || strings.HasSuffix(c.Name, "a process each") {
			continue
		}
		row := []string{c.Name, fmt.Sprintf("%.1f", c.FirstWait.Mean.Seconds())}
		for _, o := range c.Outages[:2] {
			row = append(row, fmt.Sprintf("%.0f", o.Refusals.Mean), fmt.Sprintf("%.0f", o.After.Mean.Seconds()))
		}
		rows = append(rows, row)
	}
	return markdown(rows)
}

func budgetTable(t *testing.T) string {
	rows := [][]string{{"limits", "attempts", "retries", "operations given up", "all served after, s", "longest run, s"}}
	for _, test := range []struct {
		name  string
		limit []retry.Option
	}{
		{"none", nil},
		{"3 retries", []retry.Option{retry.Limit(3)}},
		{"3 retries, and the budget", []retry.Option{retry.Limit(3), retry.WithBudget(retry.NewBudget(100, 1, 0.1).Refill(10))}},
	} {
		m := manyOutages(t, Outage{Policy: retry.New(exponential.Jitter(jitter.Full), test.limit...), Return: 20 * time.Second}, 50)
		rows = append(rows, []string{test.name, fmt.Sprintf("%.0f", m.attempts), fmt.Sprintf("%.0f", m.retries),
			fmt.Sprintf("%.0f", m.givenUp), fmt.Sprintf("%.0f", m.after), fmt.Sprintf("%.0f", m.latest)})
	}
	return markdown(rows)
}

// The superlatives in the text of docs/choosing.md are true.
func TestChoosingSentences(t *testing.T) {
	if raced {
		t.Skip("figures are compared without the race detector")
	}
	// A server that comes back.
	all, err := lengths()
	must(t, err)
	by := map[string]Choice{}
	for _, c := range all.Choices {
		by[c.Name] = c
	}
	full, equal, decorrelated, tiled := by["exponential, full"], by["exponential, equal"], by["decorrelated"], by["exponential, tiled"]
	for i, o := range tiled.Outages {
		for _, name := range []string{"exponential", "exponential, 15 %", "exponential, equal", "exponential, full", "decorrelated"} {
			if x := by[name].Outages[i]; o.Refusals.Mean >= x.Refusals.Mean {
				t.Errorf("down for %v: tiled has %v failures, %s %v", o.Down, o.Refusals.Mean, name, x.Refusals.Mean)
			}
		}
		if more := equal.Outages[i].Refusals.Mean > full.Outages[i].Refusals.Mean; more != (o.Down < time.Minute) {
			t.Errorf("down for %v: equal has %v failures, full %v", o.Down, equal.Outages[i].Refusals.Mean, full.Outages[i].Refusals.Mean)
		}
		for _, name := range []string{"constant 55 s, tiled", "constant 55 s, tiled, by-ordinal"} {
			if x := by[name].Outages[i]; x.Refusals.Mean != 0 || x.Peak.Mean > 20 {
				t.Errorf("down for %v: %s has %v failures and a peak of %v", o.Down, name, x.Refusals.Mean, x.Peak.Mean)
			}
		}
		if o.Down <= 5*time.Second && (o.After.Mean < full.Outages[i].After.Mean+10*time.Second || o.After.Mean < decorrelated.Outages[i].After.Mean+10*time.Second ||
			(o.After.Mean-equal.Outages[i].After.Mean).Abs() > 8*time.Second) {
			t.Errorf("down for %v: tiled is over after %v", o.Down, o.After.Mean)
		}
	}
	for i, soon := range by["1 s, then 55 s, tiled"].Outages {
		if x := full.Outages[i]; soon.Refusals.Mean > 0.2*x.Refusals.Mean || i > 0 && soon.Refusals.Mean > 0 || soon.After.Mean >= x.After.Mean {
			t.Errorf("down for %v: soon, then a wave has %v failures and is over after %v, full %v and %v", soon.Down, soon.Refusals.Mean, soon.After.Mean, x.Refusals.Mean, x.After.Mean)
		}
	}
	last := len(tiled.Outages) - 1
	minute := func(c Choice) ChoiceOutage { return c.Outages[last] }
	if most := minute(full).Attempts; most < minute(equal).Attempts || most < minute(decorrelated).Attempts {
		t.Errorf("full makes %v attempts", most)
	}
	if part := minute(tiled).Refusals.Mean / minute(equal).Refusals.Mean; part < 0.5 || part > 0.6 {
		t.Errorf("tiled has %.2f of equal's failures", part)
	}
	if each := minute(by["exponential, tiled, a process each"]).After.Mean; each < minute(equal).After.Mean || each < minute(full).After.Mean {
		t.Errorf("tiled, a process each, is over after %v", each)
	}
	if two := manyOutages(t, Outage{Policy: retry.New(oneWave.Tiled()), Processes: 2}, 10); two.failures == 0 {
		t.Error("the clients of two processes do not meet")
	}
	// Slots.
	for _, s := range outageStrategies()[:7] {
		for _, down := range []time.Duration{2 * time.Second, time.Minute} {
			r := runOutage(t, Outage{Policy: s.Policy, Clients: 1000, Capacity: 20, Down: down, Slots: true})
			if late := r.End - r.Best; r.FailuresAfter > 1000 || late > 11*time.Second {
				t.Errorf("slots, %s, down for %v: %v refusals, and all served %v late", s.Name, down, r.FailuresAfter, late)
			}
		}
	}
	// Contention.
	_, points, err := contended()
	must(t, err)
	at := map[string]map[int]SweepPoint{}
	for _, p := range points {
		if at[p.Strategy] == nil {
			at[p.Strategy] = map[int]SweepPoint{}
		}
		at[p.Strategy][p.Clients] = p
	}
	for n, want := range map[int][2]string{10: {"decorrelated", "decorrelated"}, 30: {"full", "decorrelated"}, 100: {"full", "decorrelated"}, 300: {"equal", "full"}} {
		for _, name := range []string{"full", "equal", "decorrelated"} {
			if p, best := at[name][n], at[want[0]][n]; p.Calls.Mean < best.Calls.Mean {
				t.Errorf("%d clients: %s makes %v calls, %s %v", n, name, p.Calls.Mean, want[0], best.Calls.Mean)
			}
			if p, best := at[name][n], at[want[1]][n]; p.End.Mean < best.End.Mean {
				t.Errorf("%d clients: %s takes %v, %s %v", n, name, p.End.Mean, want[1], best.End.Mean)
			}
			if at["none"][n].End.Mean > at[name][n].End.Mean {
				t.Errorf("%d clients: none takes %v", n, at["none"][n].End.Mean)
			}
		}
		if part := at["constant 2 s, tiled"][n].Calls.Mean / at["full"][n].Calls.Mean; part < 0.29 || part > 0.51 {
			t.Errorf("%d clients: the tiled constant makes %.2f of full jitter's calls", n, part)
		}
	}
	// The herd.
	herds, err := answered()
	must(t, err)
	constant, linear := herds["constant, tiled"], herds["tiled"]
	if constant.PeakOverMean >= linear.PeakOverMean || constant.MeanCV >= linear.MeanCV || constant.FirstMost < 2*linear.FirstMost || (constant.Total-linear.Total).Abs() > 5*time.Second {
		t.Errorf("the constant: %+v, linear: %+v", constant, linear)
	}
}

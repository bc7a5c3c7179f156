package sim

import (
	"context"
	"errors"
	"math"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// answered returns the figures of the open question, and Tiled's in every placement.
var answered = sync.OnceValues(func() (map[string]Figures, error) {
	q := openQuestion()
	tiled := q.Strategies[4]
	q.Strategies = append(q.Strategies, Strategy{"tiled, a process each", tiled.Policy, OneProcess, q.Jobs})
	for _, p := range []Placement{ByOrdinal} {
		q.Strategies = append(q.Strategies, Strategy{"tiled, " + string(p), tiled.Policy, p, 0})
	}
	// The same total: half a wait for the first retry, and four whole ones.
	q.Strategies = append(q.Strategies, Strategy{Name: "constant, tiled", Policy: retry.New(backoff.Constant(654 * time.Second * 10 / 45).Tiled())})
	all, err := q.Run(context.Background())
	m := map[string]Figures{}
	for _, f := range all {
		m[f.Name] = f
	}
	return m, err
})

func TestOpenQuestionIsAnswered(t *testing.T) {
	f, err := answered()
	must(t, err)
	sidekiq, tiled := f["sidekiq"], f["tiled"]
	within := func(what string, got, want, most float64) {
		t.Helper()
		if math.Abs(got-want) > most {
			t.Errorf("%s is %.3f, want %v ± %v", what, got, want, most)
		}
	}
	within("sidekiq's total in s", sidekiq.Total.Seconds(), 654, 2)
	within("tiled's total in s", tiled.Total.Seconds(), 654, 2)
	within("sidekiq's dead share", sidekiq.DeadShare, 0.33, 0.01)
	if tiled.DeadShare != 0 {
		t.Errorf("tiled's dead share is %v, want 0", tiled.DeadShare)
	}
	within("sidekiq's peak", sidekiq.PeakOverMean, 15, 0.6)
	within("tiled's peak", tiled.PeakOverMean, 5, 0.6)
	for _, p := range []string{"a process each"} {
		within("the peak of tiled, "+p, f["tiled, "+p].PeakOverMean, 11, 0.7)
		within("the dead share of tiled, "+p, f["tiled, "+p].DeadShare, 0.16, 0.02)
	}
	// With a process each, and with one process.
	within("the peak of tiled, by-ordinal", f["tiled, by-ordinal"].PeakOverMean, tiled.PeakOverMean, 0.3)
	within("the dead share of tiled, by-ordinal", f["tiled, by-ordinal"].DeadShare, 0, 0)

	// A draw from [a, b] has the variation (b-a)/(a+b)/√3. Sidekiq's n-th wait is of [k⁴+15, k⁴+15+30·(k+1)] s, tiled's of
	// [n-1, n]·d: the first varies more, every other one much less, and so does the mean.
	for n := 1; n <= 5; n++ {
		k := float64(n - 1)
		lo, hi := k*k*k*k+15, k*k*k*k+15+30*(k+1)
		within("sidekiq's CV", sidekiq.CV[n-1], (hi-lo)/(hi+lo)/math.Sqrt(3), 0.005)
		within("tiled's CV", tiled.CV[n-1], 1/float64(2*n-1)/math.Sqrt(3), 0.005)
		if n > 1 && tiled.CV[n-1] > 0.55*sidekiq.CV[n-1] {
			t.Errorf("wait %d: CV is %.3f, sidekiq's %.3f: want about half", n, tiled.CV[n-1], sidekiq.CV[n-1])
		}
	}
	within("sidekiq's mean CV", sidekiq.MeanCV, 0.27, 0.005)
	within("tiled's mean CV", tiled.MeanCV, 0.206, 0.005)

	// The price.
	if tiled.FirstMost <= sidekiq.FirstMost {
		t.Errorf("the longest first wait is %v, sidekiq's %v: want it longer", tiled.FirstMost, sidekiq.FirstMost)
	}
	for _, name := range []string{"constant", "exponential"} {
		if f[name].DeadShare < 0.98 || f[name].PeakOverMean < 100 || f[name].MeanCV != 0 {
			t.Errorf("%s: %+v", name, f[name])
		}
	}
	if b := f["buckets"]; b.PeakOverMean < tiled.PeakOverMean || b.MeanCV < sidekiq.MeanCV {
		t.Errorf("buckets: %+v", b)
	}
}

func TestOpenQuestionWindowIsTheLeastWithNothingDead(t *testing.T) {
	q := openQuestion()
	var widest time.Duration
	for seed := range uint64(200) {
		h := Herd{Policy: q.Strategies[4].Policy, Jobs: q.Jobs, Retries: q.Retries, Seed: seed}
		times := mustRun(t, h).sorted()
		for i, at := range times[1:] {
			widest = max(widest, at-times[i])
		}
	}
	// The last wave is 5·52.32 s long, and the largest of 100 golden gaps is φ⁹ of it, φ = 0.618….
	want := time.Duration(math.Pow((math.Sqrt(5)-1)/2, 9) * 5 * 52.32 * 1e9)
	if d := (widest - want).Abs(); d > time.Millisecond || widest >= q.DeadWindow || q.DeadWindow-widest > 100*time.Millisecond {
		t.Errorf("the widest gap is %v, want %v, just under %v", widest, want, q.DeadWindow)
	}
}

func TestComparisonIsOfItsHerds(t *testing.T) {
	c := Comparison{
		Strategies: []Strategy{{Name: "a", Policy: retry.New(backoff.Sidekiq())}, {Name: "b", Policy: retry.New(backoff.Linear(time.Second).Tiled()), Placement: ByOrdinal}},
		Jobs:       20, Retries: 3, Runs: 2, Seed: 8, PeakWindow: time.Second, DeadWindow: 2 * time.Second,
	}
	last := int64(0)
	c.Progress = func(done, total int64) {
		if done <= last || total != millionths {
			t.Errorf("progress of %d, of %d, after %d", done, total, last)
		}
		last = done
	}
	got := mustRun(t, c)
	for i, s := range c.Strategies {
		var want [2]Figures
		for run := range want {
			r := mustRun(t, Herd{Policy: s.Policy, Placement: s.Placement, Jobs: 20, Retries: 3, Seed: 8 + uint64(run)})
			waits, total := waitsOf(r), totalsOf(r)[2]
			_, peak, _ := r.window(r.sorted(), c.PeakWindow)
			_, _, dead := r.window(r.sorted(), c.DeadWindow)
			want[run] = Figures{
				Strategy: s, Total: total.Mean, TotalCV: total.CV, End: r.End, FirstMost: waits[0].Most,
				PeakOverMean: peak, DeadShare: dead,
			}
			for _, w := range waits {
				want[run].CV = append(want[run].CV, w.CV)
			}
		}
		for name, x := range map[string][3]float64{
			"Total":        {float64(got[i].Total), float64(want[0].Total), float64(want[1].Total)},
			"TotalCV":      {got[i].TotalCV, want[0].TotalCV, want[1].TotalCV},
			"End":          {float64(got[i].End), float64(want[0].End), float64(want[1].End)},
			"FirstMost":    {float64(got[i].FirstMost), float64(want[0].FirstMost), float64(want[1].FirstMost)},
			"PeakOverMean": {got[i].PeakOverMean, want[0].PeakOverMean, want[1].PeakOverMean},
			"DeadShare":    {got[i].DeadShare, want[0].DeadShare, want[1].DeadShare},
			"CV[1]":        {got[i].CV[1], want[0].CV[1], want[1].CV[1]},
			"MeanCV":       {got[i].MeanCV, mean(want[0].CV), mean(want[1].CV)},
		} {
			if mean := (x[1] + x[2]) / 2; math.Abs(x[0]-mean) > 1e-8*mean { // durations are whole
				t.Errorf("%s: %s is %v, want %v, the mean of %v", s.Name, name, x[0], mean, x[1:])
			}
		}
		if !reflect.DeepEqual(got[i].Strategy, s) {
			t.Errorf("strategy is %+v, want %+v", got[i].Strategy, s)
		}
	}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, x := range x {
		sum += x
	}
	return sum / float64(len(x))
}

func TestComparisonStopsWithItsContext(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	c := openQuestion()
	c.Progress = func(done, _ int64) {
		if done >= 450_000 {
			cancel(why)
		}
	}
	figures, err := c.Run(ctx)
	stopped, ok := errors.AsType[*StoppedError](err)
	if !ok || !errors.Is(err, why) || stopped.Done > 500 || stopped.Total != 1000 || stopped.Unit != "runs" {
		t.Fatalf("error is %v", err)
	}
	// A processor may be late with a run, and then the later ones do not count.
	if len(figures) != int(stopped.Done)/c.Runs {
		t.Errorf("%d figures after %d of %d runs for each", len(figures), stopped.Done, c.Runs)
	}
	for i, f := range figures {
		if f.Name != c.Strategies[i].Name {
			t.Errorf("figures %d are %s's, want %s's", i, f.Name, c.Strategies[i].Name)
		}
	}
}

func TestComparisonRefusesInvalidFields(t *testing.T) {
	refuses(t, openQuestion, "Comparison", map[string]func(*Comparison){
		"Jobs is 0, want 1 to 100000000":                                func(c *Comparison) { c.Jobs = 0 },
		"Retries is -4, want 1 to 100000000":                            func(c *Comparison) { c.Retries = -4 },
		"Jobs·Retries is 1000000000000, want at most 100000000":         func(c *Comparison) { c.Jobs, c.Retries = 1e6, 1e6 },
		"Runs is 0, want 1 to 2147483647":                               func(c *Comparison) { c.Runs = 0 },
		"PeakWindow is 0s, want 1ns to 2562047h47m16.854775807s":        func(c *Comparison) { c.PeakWindow = 0 },
		"DeadWindow is -1ns, want 1ns to 2562047h47m16.854775807s":      func(c *Comparison) { c.DeadWindow = -1 },
		`Strategies[1].Placement is "5", want one of ["" "by-ordinal"]`: func(c *Comparison) { c.Strategies[1].Placement = "5" },
	})
}

// For jobs whose policy gives up early the figures describe the retries that happen.
func TestComparisonOfAPolicyThatGivesUp(t *testing.T) {
	limited := retry.New(backoff.Sidekiq(), retry.Limit(2))
	c := Comparison{Strategies: []Strategy{{Policy: limited}}, Jobs: 50, Retries: 5, Runs: 3, PeakWindow: time.Second, DeadWindow: time.Second}
	got := mustRun(t, c)
	c.Retries = 2
	want := mustRun(t, c)
	if !reflect.DeepEqual(got, want) || len(got[0].CV) != 2 || got[0].Totals.Count != 150 {
		t.Errorf("of five retries at most:\n%+v\nof two:\n%+v", got, want)
	}
}

// openQuestion is the comparison of "Visualization of backoff functions", with an answer to its open question: is there
// a backoff without state that spreads the load better, and whose waits differ little from each other?
//
// The tiled backoff takes as long as sidekiq: the last retry comes after 654 s on average with both, because Σ
// k⁴+15+15·(k+1) is 12.5·52.32. The dead time is in windows of 3.5 s. This is the shortest width at which the dead time
// of this herd is 0 when it is tiled in one process: its largest gap is 3.44 s.
func openQuestion() Comparison {
	return Comparison{
		Strategies: []Strategy{
			{Name: "constant", Policy: retry.New(backoff.Constant(5 * time.Minute))},
			{Name: "exponential", Policy: retry.New(backoff.Exponential(time.Minute, 2).Plus(3 * time.Minute))},
			{Name: "sidekiq", Policy: retry.New(backoff.Sidekiq())},
			{Name: "buckets", Policy: retry.New(backoff.Buckets(time.Second, 3))},
			{Name: "tiled", Policy: retry.New(backoff.Linear(52_320 * time.Millisecond).Tiled())},
		},
		Jobs: 100, Retries: 5, Runs: 200,
		PeakWindow: time.Second, DeadWindow: 3500 * time.Millisecond,
	}
}

// classics are the five strategies that "Exponential Backoff And Jitter" compares. Its exponential wait is
// min(2 s, 5 ms·2ⁿ), n from 1: the first one is 10 ms.
func classics() []Strategy {
	exponential := backoff.Exponential(10*time.Millisecond, 2).Cap(2 * time.Second)
	return []Strategy{
		{Name: "none", Policy: noWait},
		{Name: "exponential", Policy: retry.New(exponential)},
		{Name: "full", Policy: retry.New(exponential.Jitter(jitter.Full))},
		{Name: "equal", Policy: retry.New(exponential.Jitter(jitter.Equal))},
		{Name: "decorrelated", Policy: retry.New(backoff.Decorrelated(5 * time.Millisecond).Cap(2 * time.Second))},
	}
}

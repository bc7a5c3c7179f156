package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

func TestHerdRetriesComeAtTheSumOfTheDelays(t *testing.T) {
	for _, test := range []struct {
		name string
		b    backoff.Backoff
		want []time.Duration
	}{
		{"zero", backoff.Backoff{}, []time.Duration{0, 0, 0, 0}},
		{"constant", backoff.Constant(time.Second), []time.Duration{1e9, 2e9, 3e9, 4e9}},
		{"exponential", backoff.Exponential(time.Second, 2).Cap(3 * time.Second), []time.Duration{1e9, 3e9, 6e9, 9e9}},
		{"saturated", backoff.Constant(math.MaxInt64 - 5), []time.Duration{math.MaxInt64 - 5, Never, Never, Never}},
	} {
		r, err := Herd{Policy: retry.New(test.b), Jobs: 3, Retries: 4}.Run(t.Context())
		if test.want[3] == Never != errors.Is(err, ErrHorizon) {
			t.Errorf("%s: error %v", test.name, err)
		}
		for job := range 3 {
			if got := r.Times[job*4:][:4]; !slices.Equal(got, test.want) {
				t.Errorf("%s: job %d is retried at %v, want %v", test.name, job, got, test.want)
			}
		}
	}
}

func TestHerdDecorrelatedIsTheChainOfAfter(t *testing.T) {
	const base, most = 5 * time.Millisecond, 200 * time.Millisecond
	r := mustRun(t, Herd{Policy: retry.New(backoff.Decorrelated(base).Cap(most)), Jobs: 20_000, Retries: 6, Seed: 3})
	grown := 0
	for job := range r.Jobs {
		prev := base
		for k := range r.Retries {
			wait := r.At(job, k+1)
			if k > 0 {
				wait -= r.At(job, k)
			}
			if wait < base || wait > min(most, 3*prev) {
				t.Fatalf("job %d waits %v after %v, want %v to %v", job, wait, prev, base, min(most, 3*prev))
			}
			if wait > prev {
				grown++
			}
			prev = wait
		}
	}
	if grown == 0 {
		t.Error("no wait grew")
	}
	// The mean of the second step of the chain is (base + 3·mean(first))/2; the first is uniform on [5, 15].
	got := waitsOf(r)[1]
	se := float64(got.SD) / math.Sqrt(float64(got.Count))
	if z := (float64(got.Mean) - 17.5e6) / se; math.Abs(z) > 5 {
		t.Errorf("the second wait is %v on average, want 17.5ms (z = %.1f)", got.Mean, z)
	}
}

func TestHerdTiledWavesAbut(t *testing.T) {
	const jobs, retries, d = 1000, 6, 10 * time.Second
	for _, p := range []Placement{OneProcess, ByOrdinal} {
		r := mustRun(t, Herd{Policy: retry.New(backoff.Linear(d).Tiled()), Placement: p, Jobs: jobs, Retries: retries, Seed: 7})
		for job := range jobs {
			u := float64(r.At(job, 1)) / float64(d)
			var start, before time.Duration
			for n := 1; n <= retries; n++ {
				// The n-th wave is [start, start+n·d), and the job keeps its place in it.
				at := r.At(job, n)
				place := float64(at-start) / float64(time.Duration(n)*d)
				if math.Abs(place-u) > 1e-8 || place >= 1 {
					t.Fatalf("%v: job %d is at %v of wave %d, at %v of the first", p, job, place, n, u)
				}
				if n > 1 && at-before < before-r.Before(job, n-1) {
					t.Fatalf("%v: job %d: wait %d is shorter than the one before", p, job, n)
				}
				before = at
				start += time.Duration(n) * d
			}
		}
		load, err := r.Load(d) // the n-th wave fills n bins
		must(t, err)
		if len(load.Counts) != 21 {
			t.Fatalf("%v: %d bins, want 21", p, len(load.Counts))
		}
		if slices.Contains(load.Counts, 0) {
			t.Errorf("%v: bins are empty: %v", p, load.Counts)
		}
		bin := 0
		for n := 1; n <= retries; n++ {
			sum, want := int64(0), jobs/n
			for range n {
				c := load.Counts[bin]
				if (p == OneProcess || p == ByOrdinal) && (c < int64(want)-2 || c > int64(want)+3) {
					t.Errorf("%v: bin %d of wave %d holds %d, want %d", p, bin, n, c, want)
				}
				sum += c
				bin++
			}
			if sum != jobs {
				t.Errorf("%v: wave %d holds %d retries in its %d bins, want %d", p, n, sum, n, jobs)
			}
		}
	}
}

// before returns the time of the previous retry, 0 for the first.
func (r *HerdResult) Before(job, retry int) time.Duration {
	if retry == 1 {
		return 0
	}
	return r.At(job, retry-1)
}

func TestByOrdinalFixesEveryDelayOfAJob(t *testing.T) {
	r := mustRun(t, Herd{Policy: retry.New(backoff.Constant(time.Second).Jitter(jitter.Full)), Placement: ByOrdinal, Jobs: 100, Retries: 3, Seed: 5})
	seen := map[time.Duration]bool{}
	for job := range r.Jobs {
		wait := r.At(job, 1)
		if r.At(job, 2) != 2*wait || r.At(job, 3) != 3*wait {
			t.Fatalf("job %d: retries at %v, %v, %v are not evenly apart", job, wait, r.At(job, 2), r.At(job, 3))
		}
		seen[wait] = true
	}
	if len(seen) != 100 {
		t.Errorf("%d different waits of 100 jobs", len(seen))
	}
}

func TestHerdSameSeedSameBytes(t *testing.T) {
	for _, p := range []Placement{OneProcess, ByOrdinal} {
		for _, b := range []backoff.Backoff{backoff.Sidekiq(), backoff.Linear(time.Second).Tiled(), backoff.Decorrelated(time.Second)} {
			h := Herd{Policy: retry.New(b), Placement: p, Jobs: 50, Retries: 4, Seed: 11}
			one, two := marshal(t, mustRun(t, h)), marshal(t, mustRun(t, h))
			if one != two {
				t.Errorf("%v %v: two runs differ", b, p)
			}
			h.Seed++
			if same := one == marshal(t, mustRun(t, h)); same != (p == ByOrdinal) { // ByOrdinal draws nothing
				t.Errorf("%v %v: another seed gives the same: %v", b, p, same)
			}
		}
	}
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	must(t, err)
	return string(text)
}

func TestHerdStopsAtItsHorizon(t *testing.T) {
	h := Herd{Policy: retry.New(backoff.Constant(time.Second)), Jobs: 10, Retries: 5, Horizon: 3 * time.Second}
	r, err := h.Run(t.Context())
	stopped, ok := errors.AsType[*StoppedError](err)
	if !ok || !errors.Is(err, ErrHorizon) {
		t.Fatalf("error is %v, want a *StoppedError that is ErrHorizon", err)
	}
	if stopped.Done != 30 || stopped.Total != 50 {
		t.Errorf("%d of %d done, want 30 of 50", stopped.Done, stopped.Total)
	}
	if want := "sim: Herd: stopped at 3s: the horizon is reached: 30 of 50 retries done"; err.Error() != want {
		t.Errorf("error is %q, want %q", err, want)
	}
	want := []time.Duration{1e9, 2e9, 3e9, Never, Never}
	if got := r.Times[45:]; !slices.Equal(got, want) {
		t.Errorf("the last job is retried at %v, want %v", got, want)
	}
	if got := waitsOf(r); got[2].Count != 10 || got[3] != (Spread{}) {
		t.Errorf("waits are %+v", got)
	}
	load, err := r.Load(time.Second)
	if err != nil || !slices.Equal(load.Counts, []int64{0, 10, 10, 10}) {
		t.Errorf("load is %+v, %v", load, err)
	}
	if peak, _, _ := r.window(r.sorted(), time.Second); peak != 10 {
		t.Errorf("at most %d in a second, want 10", peak)
	}
	h.Horizon = 5 * time.Second // the last retry is on it
	if _, err := h.Run(t.Context()); err != nil {
		t.Errorf("horizon at the last retry: %v", err)
	}
}

func TestHerdBeforeItsHorizonIsAsWithout(t *testing.T) {
	h := Herd{Policy: retry.New(backoff.Sidekiq()), Jobs: 200, Retries: 5, Seed: 6}
	want := mustRun(t, h).Times
	h.Horizon = 300 * time.Second
	r, err := h.Run(t.Context())
	if !errors.Is(err, ErrHorizon) {
		t.Fatal(err)
	}
	for i, at := range r.Times {
		if at != want[i] && (at != Never || want[i] <= h.Horizon) {
			t.Fatalf("time %d is %v, without a horizon %v", i, at, want[i])
		}
	}
	if r.End > h.Horizon || r.End != slices.Max(r.Times) {
		t.Errorf("end is %v", r.End)
	}
}

func TestHerdStopsWithItsContext(t *testing.T) {
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	var reports [][2]int64
	growing := backoff.Func(func(n int, u float64) time.Duration { return time.Duration(n) })
	if r, err := (Herd{Policy: retry.New(growing), Jobs: 1, Retries: 1e6, Progress: func(int64, int64) { cancel(why) }}).Run(ctx); !errors.Is(err, why) || r.Jobs != 0 || r.End != 0 || len(r.Times) != 0 {
		t.Errorf("stopped in its first job: %d jobs, %d times, end %v, %v", r.Jobs, len(r.Times), r.End, err)
	}

	ctx, cancel = context.WithCancelCause(t.Context())
	h := Herd{Policy: retry.New(backoff.Sidekiq()), Jobs: 100_000, Retries: 7, Seed: 1, Progress: func(done, total int64) {
		reports = append(reports, [2]int64{done, total})
		cancel(why)
	}}
	r, err := h.Run(ctx)
	stopped, ok := errors.AsType[*StoppedError](err)
	if !ok || !errors.Is(err, why) {
		t.Fatalf("error is %v, want a *StoppedError with the context's cause", err)
	}
	if len(reports) != 1 || reports[0][1] != 700_000 {
		t.Errorf("progress is %v, want one report of 700000", reports)
	}
	if r.Jobs == 0 || r.Jobs > 20_000 || len(r.Times) != 7*r.Jobs || stopped.Done != int64(len(r.Times)) {
		t.Fatalf("%d jobs with %d times, %d said to be done", r.Jobs, len(r.Times), stopped.Done)
	}
	// The computed part is the same as in a whole run.
	h.Progress = nil
	if whole := mustRun(t, h); !slices.Equal(whole.Times[:len(r.Times)], r.Times) {
		t.Error("the part computed differs from the whole")
	}
	if end := slices.Max(r.Times); r.End != end {
		t.Errorf("end is %v, want %v", r.End, end)
	}
	if len(waitsOf(r)) != 7 || waitsOf(r)[6].Count != r.Jobs {
		t.Errorf("waits are %+v", waitsOf(r))
	}

	r, err = h.Run(ctx)
	if !errors.Is(err, why) || r == nil || r.Jobs != 0 {
		t.Errorf("ended before it began: %+v, %v", r, err)
	}
	if l, err := r.Load(time.Second); err != nil || l.Peak != 0 {
		t.Errorf("load of nothing: %+v, %v", l, err)
	}
	if peak, overMean, dead := r.window(r.sorted(), time.Second); peak != 0 || overMean != 0 || dead != 0 {
		t.Errorf("window on nothing: %v, %v, %v", peak, overMean, dead)
	}
}

func TestHerdReportsProgressToTheEnd(t *testing.T) {
	var last, reports int64
	h := Herd{Jobs: 30_000, Retries: 10, Progress: func(done, total int64) {
		if done < last || total != 300_000 {
			t.Fatalf("progress is %d of %d after %d", done, total, last)
		}
		last = done
		reports++
	}}
	mustRun(t, h)
	if last != 300_000 || reports < 3 {
		t.Errorf("%d reports, the last of %d", reports, last)
	}
	h.Jobs, reports = 10, 0
	mustRun(t, h)
	if reports != 0 {
		t.Error("a short run has reported")
	}
}

func TestHerdSpreads(t *testing.T) {
	r := &HerdResult{Jobs: 2, Retries: 2, Times: []time.Duration{10, 40, 30, 40}, End: 40}
	if got, want := waitsOf(r), []Spread{{2, 10, 30, 20, 10, 0.5, 10, 30, 30}, {2, 10, 30, 20, 10, 0.5, 10, 30, 30}}; !reflect.DeepEqual(got, want) {
		t.Errorf("waits are %+v, want %+v", got, want)
	}
	if got, want := totalsOf(r), []Spread{{2, 10, 30, 20, 10, 0.5, 10, 30, 30}, {2, 40, 40, 40, 0, 0, 40, 40, 40}}; !reflect.DeepEqual(got, want) {
		t.Errorf("totals are %+v, want %+v", got, want)
	}
	// The uniform distribution on [15, 45] s has a mean of 30 and a deviation of 30/√12.
	s := waitsOf(mustRun(t, Herd{Policy: retry.New(backoff.Sidekiq()), Jobs: 200_000, Retries: 1}))[0]
	if math.Abs(s.CV-1/math.Sqrt(12)) > 0.003 || s.Least < 15*time.Second || s.Most >= 45*time.Second {
		t.Errorf("sidekiq's first wait is %+v", s)
	}
}

func TestHerdRefusesInvalidFields(t *testing.T) {
	refuses(t, func() Herd { return Herd{Jobs: 1, Retries: 1} }, "Herd", map[string]func(*Herd){
		"Jobs is 0, want 1 to 100000000":                            func(h *Herd) { h.Jobs = 0 },
		fmt.Sprintf("Jobs is %d, want 1 to 100000000", math.MaxInt): func(h *Herd) { h.Jobs = math.MaxInt },
		"Retries is -1, want 1 to 100000000":                        func(h *Herd) { h.Retries = -1 },
		"Jobs·Retries is 110000000, want at most 100000000":         func(h *Herd) { h.Jobs, h.Retries = 1e7, 11 },
		"Horizon is -1ns, want at least 0":                          func(h *Herd) { h.Horizon = -1 },
		`Placement is "4", want one of ["" "by-ordinal"]`:           func(h *Herd) { h.Placement = "4" },
	})
	mustRun(t, Herd{Jobs: 1, Retries: 1})
}

func TestHerdAtPanicsOutsideTheHerd(t *testing.T) {
	r := mustRun(t, Herd{Jobs: 2, Retries: 3})
	for _, test := range []struct {
		job, retry int
		want       string
	}{
		{-1, 1, "sim: At: job is -1, want 0 to 1"},
		{2, 1, "sim: At: job is 2, want 0 to 1"},
		{0, 0, "sim: At: retry is 0, want 1 to 3"},
		{0, 4, "sim: At: retry is 4, want 1 to 3"},
	} {
		panics(t, test.want, func() { r.At(test.job, test.retry) })
	}
}

func TestCheckerTakesTheEnds(t *testing.T) {
	c := checker{model: "Model"}
	c.count("A", 1, 1, 3)
	c.count("A", 3, 1, 3)
	c.duration("B", 1, 1, 3)
	c.duration("B", 3, 1, 3)
	c.number("C", 0, 0, 1)
	c.number("C", 1, 0, 1)
	c.notNegative("D", 0)
	if c.err != nil {
		t.Error(c.err)
	}
}

func TestHerdAsJSON(t *testing.T) {
	h := Herd{Policy: retry.New(backoff.Exponential(time.Second, 2).Jitter(jitter.Full)), Placement: ByOrdinal, Jobs: 2, Retries: 3, Seed: 4, Horizon: 5}
	text := marshal(t, h)
	if want := `{"policy":"exponential base=1s factor=2 jitter=full","placement":"by-ordinal","processes":0,"jobs":2,"retries":3,"seed":4,"horizon":5}`; text != want {
		t.Errorf("as JSON it is %s, want %s", text, want)
	}
	var back Herd
	if err := json.Unmarshal([]byte(text), &back); err != nil || !reflect.DeepEqual(h, back) {
		t.Errorf("read back it is %+v, %v", back, err)
	}
}

// The retries after a policy gives up never happen.
func TestHerdOfAPolicyThatGivesUp(t *testing.T) {
	for _, o := range []retry.Option{retry.Limit(2), retry.Within(4 * time.Second), retry.StopAt(3 * time.Second)} {
		r := mustRun(t, Herd{Policy: retry.New(backoff.Linear(time.Second), o), Jobs: 2, Retries: 4})
		if want := []time.Duration{1e9, 3e9, Never, Never, 1e9, 3e9, Never, Never}; !slices.Equal(r.Times, want) || r.End != 3*time.Second {
			t.Errorf("times are %v, want %v", r.Times, want)
		}
		if w := waitsOf(r); w[1].Count != 2 || w[2].Count != 0 {
			t.Errorf("waits are %+v", w)
		}
	}
}

// waitsOf returns the distributions of the single waits, and totalsOf those of the times of each retry.
func waitsOf(r *HerdResult) []Spread  { return spreadsOf(r, r.waits) }
func totalsOf(r *HerdResult) []Spread { return spreadsOf(r, r.totals) }

func spreadsOf(r *HerdResult, add func(k int, m *moments)) []Spread {
	all := make([]Spread, r.Retries)
	for k := range all {
		var m moments
		add(k, &m)
		all[k] = m.spread()
	}
	return all
}

package prove

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// Check runs the program twice undisturbed, and then once for each scenario, Parallel at once. A run with a fault, or
// whose break did not take place, is played again: only what both show is a finding. It returns an error if nothing can
// be judged, and when ctx ends; then the report has what is known.
//
// It panics if Client is nil, a number is negative, or a Way is unknown.
func (t Target) Check(ctx context.Context) (Report, error) {
	c, err := t.prepare()
	report := Report{Findings: []Finding{}}
	if err != nil {
		return report, err
	}
	ctx, c.cancel = context.WithCancelCause(ctx)
	defer c.cancel(nil)
	ref, err := c.measure(ctx)
	if err != nil {
		return report, err
	}
	c.ref = ref
	var all []scenario
	for _, way := range c.Ways {
		all = append(all, ref.scenarios(way)...)
	}
	trials := make([]trial, len(all))
	c.total = len(all)
	c.progress(0)
	c.each(len(all), func(i int) {
		if ctx.Err() == nil {
			trials[i] = c.try(ctx, all[i])
			c.progress(1)
		}
	})
	report.Values, report.Places = len(ref.values), len(ref.places)
	c.collect(&report, trials)
	if err := context.Cause(ctx); err != nil {
		return report, err
	}
	if report.Scenarios == 0 {
		return report, fmt.Errorf("prove: no connection broke in %s that were played: nothing was tested", judge.Count(len(all), "scenario"))
	}
	return report, nil
}

// Missing returns what is known and was not found, in the ways that were played.
func (r Report) Missing(known []Known) (missing []Known) {
	for _, k := range known {
		if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Known != "" && k.is(f) }) {
			missing = append(missing, k)
		}
	}
	return missing
}

// is reports whether the finding is what is known.
func (k Known) is(f Finding) bool { return f.Kind == k.Kind && strings.Contains(f.Where, k.Where) }

// check is a Target with its defaults, and what is known of it.
type check struct {
	Target
	ref    *undisturbed // nil until it is known
	prefix string
	runs   atomic.Int64
	cancel context.CancelCauseFunc

	mu       sync.Mutex
	done     int
	total    int
	reported map[string]bool // the kinds of which OnFinding knows
}

// trial is what the plays of a scenario have shown.
type trial struct {
	scenario
	played   bool
	tried    bool
	faults   []judge.Fault
	timeline []string
}

// prepare checks the target and sets its defaults.
func (t Target) prepare() (*check, error) {
	if t.Client == nil {
		panic("prove: Target.Client is nil")
	}
	if _, _, err := net.SplitHostPort(t.Server); err != nil {
		return nil, fmt.Errorf("prove: Target.Server is %q, want host:port", t.Server)
	}
	durations := []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{
		{"Every", &t.Every, 100 * time.Millisecond}, {"Within", &t.Within, 30 * time.Second},
		{"Quiet", &t.Quiet, 2 * time.Second}, {"Stop", &t.Stop, 5 * time.Second},
	}
	for _, d := range durations {
		if *d.value < 0 {
			panic(fmt.Sprintf("prove: Target.%s is %v, want at least 0", d.name, *d.value))
		}
		if *d.value == 0 {
			*d.value = d.or
		}
	}
	numbers := []struct {
		name  string
		value *int
		or    int
	}{{"Events", &t.Events, 12}, {"Parallel", &t.Parallel, 64}, {"Places", &t.Places, 24}}
	for _, n := range numbers {
		if *n.value < 0 {
			panic(fmt.Sprintf("prove: Target.%s is %d, want at least 0", n.name, *n.value))
		}
		if *n.value == 0 {
			*n.value = n.or
		}
	}
	ways := []Way{Cut, Amid, End, Silence, Refuse, Twice}
	for _, w := range t.Ways {
		if !slices.Contains(ways, w) {
			panic(fmt.Sprintf("prove: Target.Ways has %q, want some of %q", w, ways))
		}
	}
	if len(t.Ways) == 0 {
		t.Ways = ways
	}
	if t.Event == nil {
		t.Events = 0
	}
	c := &check{Target: t, reported: map[string]bool{}}
	for range 5 {
		c.prefix += string(rune('a' + rand.IntN(26)))
	}
	return c, nil
}

// name returns the name of the next run.
func (c *check) name() string { return fmt.Sprintf("%s%06d", c.prefix, c.runs.Add(1)) }

// each calls f for each number below n, Parallel at once.
func (c *check) each(n int, f func(i int)) {
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, c.Parallel) {
		workers.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	workers.Wait()
}

func (c *check) progress(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done += n
	if c.OnProgress != nil {
		c.OnProgress(c.done, c.total)
	}
}

// try plays a scenario, and again if it shows a fault or its break did not take place.
func (c *check) try(ctx context.Context, sc scenario) trial {
	t := trial{scenario: sc}
	var first *outcome
	var seen []judge.Fault
	for range 3 { // a break that did not take place, a fault, and again the fault
		o := c.play(ctx, sc)
		if ctx.Err() != nil {
			return t
		}
		if o.trouble != nil {
			c.cancel(fmt.Errorf("prove: %s: %w", sc.where, o.trouble))
			return t
		}
		t.tried = true
		broke := o.broke()
		switch {
		case !broke && first == nil && t.timeline == nil:
			t.timeline = o.timeline // once more
			continue
		case !broke:
			return t
		}
		faults := c.faults(o)
		if t.played = true; len(faults) == 0 {
			return t
		}
		if first == nil {
			first, seen = o, faults
			continue
		}
		t.timeline = o.timeline
		for _, f := range faults {
			if slices.ContainsFunc(seen, func(other judge.Fault) bool { return other.Kind == f.Kind }) {
				t.faults = append(t.faults, f)
			}
		}
		c.certain(t)
		return t
	}
	return t
}

// certain tells OnFinding of kinds that it does not know.
func (c *check) certain(t trial) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range t.faults {
		finding := c.finding(&judge.Found{Fault: f, Where: t.where, Shown: 1, Scenarios: 1, Timeline: t.timeline})
		key := f.Kind + finding.Known
		if !c.reported[key] && c.OnFinding != nil {
			c.OnFinding(finding)
		}
		c.reported[key] = true
	}
}

// finding makes a finding of what the judge has found.
func (c *check) finding(f *judge.Found) Finding {
	finding := Finding{Kind: Kind(f.Kind), Where: f.Where, What: f.What, Mend: f.Advice(), Shown: f.Shown, Scenarios: f.Scenarios, Timeline: f.Timeline}
	for _, k := range c.Known {
		if k.is(finding) {
			finding.Known = k.Why
			break
		}
	}
	return finding
}

// collect makes the report. A kind that an earlier group has shown is not reported again.
func (c *check) collect(report *Report, trials []trial) {
	var names []string
	groups := map[string]*judge.Group{}
	for _, t := range trials {
		switch {
		case !t.played:
			if t.tried {
				report.NotPlayed++
			}
			continue
		case groups[t.group] == nil:
			groups[t.group] = &judge.Group{}
			names = append(names, t.group)
		}
		report.Scenarios++
		groups[t.group].Add(t.where, t.timeline, t.faults...)
	}
	reported := map[string]bool{}
	for _, name := range names {
		for _, found := range groups[name].Found {
			f := c.finding(found)
			if key := found.Kind + f.Known; !reported[key] {
				reported[key] = true
				report.Findings = append(report.Findings, f)
			}
		}
	}
	if reported[string(Past)] { // then the program need not come back
		report.Findings = slices.DeleteFunc(report.Findings, func(f Finding) bool { return f.Kind == Away })
	}
}

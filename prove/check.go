package prove

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// Check runs the program twice undisturbed, and then once for each scenario, Parallel at once. A run whose break did
// not take place is played again, and so is one with a fault, until a run of its way has shown that kind twice: only
// then is it a finding. It returns an error if nothing can be judged, if fewer than half of the breaks took place, and
// when ctx ends; then the report has what is known. The error matches ErrBusy if the machine stalled during more than
// half of the check: its findings may be the machine's fault.
//
// It panics if Client is nil, a number is negative, or a Way is unknown.
func (t Target) Check(ctx context.Context) (Report, error) {
	c, err := t.prepare()
	report := Report{Findings: []Finding{}}
	if err != nil {
		return report, err
	}
	running, end := c.begin(ctx)
	defer end()
	if err = c.playAll(running, &report); ctx.Err() == nil {
		err = c.clock.judge(err, len(report.Findings))
	}
	return report, err
}

// playAll plays all, and fills the report.
func (c *check) playAll(ctx context.Context, report *Report) error {
	if err := c.measure(ctx, true); err != nil {
		return err
	}
	report.Notes = c.ref.notes
	var trials []trial
	for _, way := range c.Ways {
		for _, sc := range c.ref.scenarios(way) {
			trials = append(trials, trial{scenario: sc})
		}
	}
	c.total = len(trials)
	c.progress(0)
	c.clock.each(ctx, len(trials), c.Parallel, func(i int) {
		c.try(ctx, &trials[i])
		c.progress(1)
	})
	report.Values, report.Places = len(c.ref.values), len(c.ref.places)
	c.collect(report, trials)
	if err := context.Cause(ctx); err != nil {
		return err
	}
	if 2*report.Scenarios < len(trials) {
		return fmt.Errorf("prove: a connection broke as planned in %d of %s only, want at least half: if the server or the machine is busy, or the server "+
			"limits connections, lower Parallel or raise Within; does the program get as much through the proxy in each run?", report.Scenarios, judge.Count(len(trials), "scenario"))
	}
	return nil
}

// Missing returns what is known and was not found, in the ways that were played.
func (r Report) Missing(known []Known) []Known { return missing(r.Findings, known) }

// check is a Target with its defaults, and what is known of it.
type check struct {
	Target
	telling
	allowed judge.Allowed
	ref     undisturbed // without values until they are known
	prefix  string
	runs    atomic.Int64

	certain map[string]bool // groups and kinds that a second play has shown
}

// trial is what the plays of a scenario have shown.
type trial struct {
	scenario
	played   bool
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
	orDefault("Target.Every", &t.Every, 100*time.Millisecond)
	orDefault("Target.Within", &t.Within, 30*time.Second)
	orDefault("Target.Quiet", &t.Quiet, 2*time.Second)
	orDefault("Target.Stop", &t.Stop, 5*time.Second)
	orDefault("Target.Events", &t.Events, 12)
	orDefault("Target.Parallel", &t.Parallel, 64)
	orDefault("Target.Places", &t.Places, 24)
	ways := []Way{Cut, Amid, End, Silence, Refuse, Twice}
	for _, w := range t.Ways {
		if !slices.Contains(ways, w) {
			panic(fmt.Sprintf("prove: Target.Ways has %q, want some of %q", w, ways))
		}
	}
	if len(t.Ways) == 0 {
		t.Ways = ways
	}
	return &check{
		Target: t, telling: newTelling(t.Known, t.OnFinding, t.OnProgress), certain: map[string]bool{},
		allowed: judge.Allowed{AtLeastOnce: t.AtLeastOnce, AnyOrder: t.AnyOrder, GivesUp: t.GivesUp, Latest: t.Latest},
		prefix:  "r" + strconv.FormatInt(1<<24+rand.N[int64](1<<24), 36), // 5 characters
	}, nil
}

// try plays a scenario, once more if its break did not take place, and once more if it shows a kind of fault that is
// not certain in its group.
func (c *check) try(ctx context.Context, t *trial) {
	for n := 0; n < 2 && !t.played && ctx.Err() == nil; n++ {
		t.faults, t.played = c.tryOnce(ctx, t)
	}
	if !c.confirm(t, nil) {
		again, _ := c.tryOnce(ctx, t)
		c.confirm(t, again)
		t.faults = slices.DeleteFunc(t.faults, func(f judge.Fault) bool {
			return !slices.ContainsFunc(again, func(other judge.Fault) bool { return other.Kind == f.Kind })
		})
	}
}

// tryOnce plays a trial's scenario. It returns what is wrong, and whether the break took place; if not, it will do so
// in another connection if need be.
func (c *check) tryOnce(ctx context.Context, t *trial) (faults []judge.Fault, broke bool) {
	o := c.play(ctx, t.scenario)
	switch {
	case ctx.Err() != nil:
	case o.trouble != nil:
		c.cancel(fmt.Errorf("prove: %s: %w", t.where, o.trouble))
	case o.broke():
		t.timeline = o.timeline
		return c.faults(o), true
	case !t.played && o.seen.made == 0 && t.plan[0].conn >= 0:
		t.scenario = t.elsewhere()
	}
	return nil, false
}

// confirm makes those faults of a trial certain that were shown again, tells OnFinding of a kind that it does not know,
// and reports whether all are certain.
func (c *check) confirm(t *trial, again []judge.Fault) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := true
	for _, f := range t.faults {
		key := t.group + f.Kind
		if !c.certain[key] && slices.ContainsFunc(again, func(other judge.Fault) bool { return other.Kind == f.Kind }) {
			c.certain[key] = true
			f.Where, f.Shown, f.Timeline = t.where, 1, t.timeline
			c.tell(c.finding(&f, 1))
		}
		all = all && c.certain[key]
	}
	return all
}

// collect makes the report. A kind that an earlier group has shown is not reported again.
func (c *check) collect(report *Report, trials []trial) {
	var names []string
	groups := map[string]*judge.Group{}
	for _, t := range trials {
		switch {
		case !t.played:
			report.NotPlayed++
			continue
		case groups[t.group] == nil:
			groups[t.group] = &judge.Group{}
			names = append(names, t.group)
		}
		report.Scenarios++
		certain := slices.DeleteFunc(t.faults, func(f judge.Fault) bool { return !c.certain[t.group+f.Kind] })
		groups[t.group].Add(t.where, t.timeline, certain...)
	}
	reported := map[string]bool{}
	for _, name := range names {
		for _, f := range groups[name].Faults {
			finding := c.finding(f, groups[name].Scenarios)
			if key := f.Kind + finding.Known; !reported[key] {
				reported[key] = true
				report.Findings = append(report.Findings, finding)
			}
		}
	}
	if slices.ContainsFunc(report.Findings, func(f Finding) bool { return f.Kind == Past }) { // then the program need not come back
		report.Findings = slices.DeleteFunc(report.Findings, func(f Finding) bool { return f.Kind == Away })
	}
}

package reconnecttest

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/prove"
)

// The results are those of package prove.
type (
	// Report is what a check has found.
	Report = prove.Report
	// Finding is a kind of fault in a group of scenarios.
	Finding = prove.Finding
	// Kind is what is wrong with a client.
	Kind = prove.Kind
)

// check is a check of one client. Between a test and a finding are
//
//	check                what is expected of a client, and what has been reported
//	└── group            scenarios that break connections in the same way, and who judges them
//	    └── scenario     what happens to the connections of one run, and to the client's consumer
//	        ├── session  plays it with a client: a stream and a Feed, or what dials and a server on a host
//	        ├── network  makes it happen: to links, which for a client that dials are the ends of wires;
//	        │            its record and its timeline are what the client did
//	        └── outcome  what the run has shown: the record, and a judge.Tally of the values;
//	                     a judge.Group collects the faults in it, which become Findings
type check struct {
	judge.Allowed
	noJitter  bool
	known     []prove.Known
	onFinding func(Finding)

	name    string // CheckResume or Check
	noun    string // of a unit: an event or a write
	dials   bool   // the client has wires, whose writes can break in the middle
	events  []any  // of a Feed
	forgets bool   // the server can lose events
	// begin starts a run. It returns the client, and the function that ends the rest.
	begin func(b *virtual.Bubble, n *network) (clientFunc, func())

	ref    judge.Reference
	of     []int // the unit of each value
	took   time.Duration
	units  int
	seams  [][]int // of each unit that is a write
	finite bool    // undisturbed, the client ends by itself
	polls  bool    // undisturbed, it writes after each value

	running  int // goroutines of the undisturbed client,
	parallel int // and connections at once

	positions map[int]int     // of a client whose connection was cut before an event, at which it came back
	told      map[string]bool // the kinds of faults that were reported
	unjudged  int             // runs that could not be judged,
	spun      int             // and of those the ones that spun
	report    Report
}

func newCheck(name, noun string, opts []Option) *check {
	c := &check{name: name, noun: noun, positions: map[int]int{}, told: map[string]bool{}}
	for i, option := range opts {
		if option == nil {
			panic(fmt.Sprintf("reconnecttest: %s: opts[%d] is nil", name, i))
		}
		option(c)
	}
	return c
}

// runner runs subtests.
type runner interface {
	Run(name string, f func(*testing.T)) bool
}

// runner returns t, whose subtests make bubbles.
func (c *check) runner(t testing.TB) runner {
	r, ok := t.(runner)
	if !ok {
		panic(fmt.Sprintf("reconnecttest: %s: t is a %T, want a *testing.T or a struct that embeds one", c.name, t))
	}
	if virtual.Current().Bubble != 0 {
		panic("reconnecttest: " + c.name + ": called inside a synctest bubble; it makes bubbles of its own, so call it from the test itself")
	}
	return r
}

// playGroups plays the groups, and reports what they show.
func (c *check) playGroups(t testing.TB) Report {
	t.Helper()
	runner := c.runner(t)
	for _, k := range c.known {
		if gone := k.Kind == prove.Lag || k.Kind == prove.Gone; gone && !c.forgets || c.dials && (k.Kind == prove.Second || k.Kind == prove.Stop) || slices.Contains(ofCalls, k.Kind) {
			panic(fmt.Sprintf("reconnecttest: %s: Known: kind is %q, which this check cannot find", c.name, k.Kind))
		}
	}
	groups := c.groups()
	_, plain := t.(*testing.T)
	played := 0
	for _, g := range groups {
		runner.Run(g.name, func(sub *testing.T) {
			reporter := t
			if plain {
				reporter = sub
			}
			reporter.Helper()
			if (c.ref != nil || c.report.Scenarios == 0 && c.measure(sub, reporter)) && c.playGroup(sub, reporter, g) {
				played++
			}
		})
	}
	if played == len(groups) {
		missing(t, c.name, c.report, c.known)
	}
	return c.report
}

// measure makes the reference, and reports whether it could.
func (c *check) measure(t *testing.T, reporter testing.TB) bool {
	reporter.Helper()
	o := c.play(t, scenario{at: -1, where: "undisturbed", undisturbed: true})
	c.report.Scenarios++
	r := o.record
	var wrong []judge.Fault
	switch {
	case o.stuck != nil:
		wrong = c.judgeStuck(o)
	case o.panicked != "":
		wrong = fault(prove.Panic, "", "it panicked: %s", o.panicked)
	case o.err != nil:
		wrong = fault(prove.GaveUp, "", "it ended with the error %q", o.err)
	case r.hot != "":
		wrong = fault(prove.Hot, mendHot(o), "%s", r.hot)
	case o.Count() == 0:
		wrong = fault(prove.Unjudged, "does it connect with the function that it is given?", "it delivered nothing, on %s", judge.Count(len(r.dials), "connection"))
	case r.values == 0:
		wrong = fault(prove.Unjudged, "does it take all that comes, and does the server come to an end?", "it delivered %s and was not done in an hour", judge.Count(o.Count(), "value"))
	}
	compares := r.values > 0 && (wrong == nil || o.stuck != nil)
	if compares {
		wrong = append(wrong, c.judgeGrowth(o)...)
	}
	var g judge.Group
	g.Add(o.where, o.timeline, wrong...)
	if c.tell(reporter, "undisturbed", &g); !compares {
		return false
	}
	c.ref, c.of = o.Made()
	c.ref, c.of = c.ref[:r.values], c.of[:r.values]
	c.took, c.finite, c.Foreign, c.running = r.took, o.ended, o.timely, len(o.grown)
	c.units, c.seams = cmp.Or(c.units, c.of[r.values-1]+1), r.seams
	c.polls, c.parallel = r.turns > 1 && 2*r.turns >= r.values, r.parallel
	c.report.Values, c.report.Places = r.values, c.units
	return true
}

// playGroup plays the scenarios of a group, until one cannot be judged, and reports whether it has played all. If the
// flag -run selects one of them, they are subtests, with their timelines.
func (c *check) playGroup(t *testing.T, reporter testing.TB, g group) bool {
	reporter.Helper()
	var found judge.Group
	alone := strings.Count(flag.Lookup("test.run").Value.String(), "/") > strings.Count(t.Name(), "/")
	stuck, skipped := false, 0
	for i, sc := range g.scenarios() {
		if stuck || i > 0 && c.unjudged >= 3 || c.spun >= 3 {
			skipped++
			continue
		}
		sc.alone = alone
		play := func(t *testing.T) { stuck = c.playOne(t, g, sc, &found) }
		if alone {
			t.Run(sc.name, play)
		} else {
			play(t)
		}
	}
	c.report.NotPlayed += skipped
	c.tell(reporter, g.name, &found)
	return skipped == 0
}

// playOne plays a scenario, and reports whether it did not come to an end.
func (c *check) playOne(t *testing.T, g group, sc scenario, found *judge.Group) (stuck bool) {
	if testing.Verbose() && !sc.alone { // if a goroutine of the client's panics, that ends the process
		t.Logf("reconnecttest: %s: %s/%s", c.name, t.Name(), strings.ReplaceAll(sc.name, " ", "_"))
	}
	faults, o := g.play(t, sc)
	if o.stuck != nil {
		wrong := c.judgeStuck(o)
		faults = append(faults, wrong...)
		if Kind(wrong[0].Kind) == prove.Unjudged || o.spins {
			c.unjudged++
		}
	}
	if o.spins || o.record.floods { // each costs seconds, or half a minute
		c.spun++
	}
	if o.missed() {
		c.report.NotPlayed++
	} else {
		c.report.Scenarios++
	}
	found.Add(sc.where, o.timeline, faults...)
	if sc.alone {
		t.Logf("%s:\n%s", sc.where, strings.Join(o.timeline, "\n"))
	}
	return o.stuck != nil
}

// missed reports whether the break of a scenario has not taken place.
func (o *outcome) missed() bool {
	return o.stuck == nil && (o.fate != unbroken && !o.flaps && o.record.breaks == 0 || o.again > 0 && o.record.breaks < 2 && !o.ended && o.record.back)
}

// tell reports each kind once, and once more for each Known that it is.
func (c *check) tell(reporter testing.TB, group string, g *judge.Group) {
	reporter.Helper()
	for _, f := range g.Faults {
		finding := Finding{Kind: Kind(f.Kind), Where: f.Where, What: f.What, Mend: f.Mend, Shown: f.Shown, Scenarios: g.Scenarios, Timeline: f.Timeline}
		known := slices.IndexFunc(c.known, func(k prove.Known) bool { return k.Kind == finding.Kind && strings.Contains(f.Where, k.Where) })
		if known >= 0 {
			finding.Known = c.known[known].Why
		}
		once := f.Kind + " " + finding.Known
		if finding.Kind == prove.Unjudged {
			once += " " + group
		}
		if c.told[once] {
			continue
		}
		c.told[once] = true
		c.report.Findings = append(c.report.Findings, finding)
		switch {
		case known >= 0:
			reporter.Logf("reconnecttest: %s: %s", c.name, finding)
		case c.onFinding == nil:
			reporter.Errorf("reconnecttest: %s: %s", c.name, finding)
		}
		if c.onFinding != nil {
			c.onFinding(finding)
		}
	}
}

// reported says whether there is a finding of one of the kinds so far.
func (c *check) reported(kinds ...Kind) bool {
	return slices.ContainsFunc(c.report.Findings, func(f Finding) bool { return slices.Contains(kinds, f.Kind) })
}

// missing fails the test for each Known that was not found.
func missing(t testing.TB, name string, report Report, known []prove.Known) {
	t.Helper()
	for _, k := range report.Missing(known) {
		t.Errorf("reconnecttest: %s: there is no finding of the kind %q at %q any more, which is Known: %s", name, k.Kind, k.Where, k.Why)
	}
}

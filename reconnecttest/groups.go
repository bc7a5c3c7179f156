package reconnecttest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/prove"
)

// group is a group of scenarios in which a connection breaks in the same way: a subtest.
type group struct {
	name      string
	scenarios func() []scenario // called when there is a reference
	// play plays a scenario, perhaps several times, and returns what is wrong and the last outcome.
	play func(t *testing.T, sc scenario) ([]judge.Fault, *outcome)
}

// each makes a scenario of each number from first to last.
func each(first, last int, f func(i int) scenario) (all []scenario) {
	for i := first; i <= last; i++ {
		all = append(all, f(i))
	}
	return all
}

func only(sc scenario) func() []scenario {
	return func() []scenario { return []scenario{sc} }
}

// group returns a group whose scenarios are played once.
func (c *check) group(name string, judges func(*outcome) []judge.Fault, scenarios func() []scenario) group {
	return group{name, scenarios, func(t *testing.T, sc scenario) (faults []judge.Fault, o *outcome) {
		if o = c.play(t, sc); o.stuck == nil {
			faults = judges(o)
		}
		return faults, o
	}}
}

// at returns a scenario at the unit i.
func (c *check) at(i int, sc scenario) scenario {
	sc.at, sc.name = i, fmt.Sprintf("%s %d", c.noun, i+1)
	switch {
	case i == c.units:
		sc.at, sc.name, sc.afterwards = -1, "the end", eventPace
		sc.where += " after the last " + c.either(c.noun, "value")
	case sc.bytes > 0:
		sc.name += fmt.Sprintf(" after byte %d", sc.bytes)
		sc.where = fmt.Sprintf("%s after byte %d of %s %d of %d", sc.where, sc.bytes, c.noun, i+1, c.units)
	case sc.amid:
		sc.where = fmt.Sprintf("%s in the middle of %s %d of %d", sc.where, c.noun, i+1, c.units)
	default:
		sc.where = fmt.Sprintf("%s before %s %d of %d", sc.where, c.noun, i+1, c.units)
		if !c.dials {
			sc.where += fmt.Sprintf(" (%s)", judge.AtMost3(c.events[i:i+1]))
		}
	}
	return sc
}

// atUnits returns the group of a scenario at each unit. behind: and after the last one.
func (c *check) atUnits(sc scenario, behind bool, judges func(*outcome) []judge.Fault) group {
	return c.group(sc.name, judges, func() []scenario {
		last := c.units - 1
		if behind && !c.finite {
			last = c.units
		}
		return each(0, last, func(i int) scenario { return c.at(i, sc) })
	})
}

// amid returns the scenarios of a break within each write: in its middle, and at some of its seams, others if the
// connection ends instead, and others in the next write, which is mostly like this one.
func (c *check) amid(sc scenario) (all []scenario) {
	most := max(seamsOfWrite, fewSeams/c.units)
	for i := range c.units {
		all = append(all, c.at(i, sc))
		apart := max(2, (len(c.seams[i])+most-1)/most)
		for k, bytes := range c.seams[i] {
			if (i+k)%apart == int(sc.fate)%apart {
				there := sc
				there.bytes = bytes
				all = append(all, c.at(i, there))
			}
		}
	}
	return all
}

// atMiddle returns the group of one scenario, at the middle unit.
func (c *check) atMiddle(sc scenario, judges func(*outcome) []judge.Fault) group {
	return c.group(sc.name, judges, func() []scenario {
		middle := c.at(c.units/2, sc)
		middle.name = sc.name
		return []scenario{middle}
	})
}

// atValues returns the group of a scenario at each value. Values are counted from 1.
func (c *check) atValues(name, where string, judges func(*outcome) []judge.Fault, of func(number int) scenario) group {
	return c.group(name, judges, func() []scenario {
		return each(1, len(c.ref), func(i int) scenario {
			sc := of(i)
			sc.name, sc.where, sc.at = fmt.Sprint("value ", i), where+" "+judge.AtMost3(c.ref[i-1:i]), -1
			return sc
		})
	})
}

// groups returns all groups, in the order in which they are played.
func (c *check) groups() []group {
	return slices.Concat(c.breakGroups(), c.stopGroups(), c.twiceGroups(), c.outageGroups(), c.lossGroups())
}

// breakGroups returns the groups in which one connection breaks.
func (c *check) breakGroups() (groups []group) {
	for _, sc := range []scenario{
		{name: "cut", where: cut.what(), fate: cut},
		{name: "cut amid", where: cut.what(), fate: cut, amid: true},
		{name: "end", where: ends.what(), fate: ends},
		{name: "end amid", where: ends.what(), fate: ends, amid: true},
		{name: "silence", where: silence.what(), fate: silence},
		{name: "refusal", where: "the connection is cut, and the next two are refused,", fate: cut, refuse: 2},
	} {
		switch {
		case !sc.amid:
			groups = append(groups, c.atUnits(sc, sc.name == "cut" || sc.name == "end", c.judgeBreak))
		case c.dials:
			groups = append(groups, c.group(sc.name, c.judgeBreak, func() []scenario { return c.amid(sc) }))
		}
	}
	if c.dials {
		groups = append(groups, c.group("pause amid", c.judgeBreak, func() []scenario {
			return each(0, c.units-1, func(i int) scenario {
				pause := pauses[i%len(pauses)]
				return c.at(i, scenario{fate: stall, pause: pause, amid: true, where: fmt.Sprintf("the connection pauses for %v", pause)})
			})
		}))
	}
	return append(groups, c.atValues("busy", "the connection is cut while the consumer is busy with", c.judgeBreak, func(i int) scenario { return scenario{busyAt: i} }))
}

// twiceGroups returns the groups in which the next connection breaks too, or has no answer.
func (c *check) twiceGroups() (groups []group) {
	for _, how := range []fate{cut, ends, silence} {
		groups = append(groups, c.group(how.String()+" twice", c.judgeBreak, func() []scenario {
			return each(1, 4, func(k int) scenario {
				sc := c.at(c.units/2, scenario{where: how.what(), fate: how})
				sc.again, sc.name = k, fmt.Sprintf("%s %d", c.noun, k)
				sc.where += fmt.Sprintf(", and the next one before its %s %d", c.noun, k)
				return sc
			})
		}))
	}
	return append(groups,
		c.atMiddle(scenario{name: "no answer", where: "the connection is cut, and the next two have no answer,", fate: cut, ignore: 2}, c.judgeBreak),
		c.atMiddle(scenario{name: "context in a dial", where: "the context ends in a dial without an answer, after a cut", fate: cut, ignore: 2, cancelIn: eventPace}, c.judgeStop),
		c.group("context in the first dial", c.judgeStop, only(scenario{name: "context in the first dial", where: "the context ends in the first dial, which has no answer",
			at: -1, first: true, ignore: 1, cancelIn: eventPace})),
		c.atMiddle(scenario{name: "context in a handshake", where: "the connection is cut, and the context ends while the next one is silent from its beginning,",
			fate: cut, again: 1, then: silence, cancelIn: time.Second}, c.judgeStop))
}

// stopGroups returns the groups in which the consumer stops, or the context ends.
func (c *check) stopGroups() []group {
	groups := []group{
		c.atValues("stop", "the consumer stops at", c.judgeStop, func(i int) scenario { return scenario{stopAt: i} }),
		c.atValues("context in a delivery", "the context ends in the delivery of", c.judgeStop, func(i int) scenario { return scenario{cancelAt: i} }),
		c.atUnits(scenario{name: "context in silence", where: "the context ends in a silent connection,", fate: silence, cancelIn: time.Second}, false, c.judgeStop),
		c.group("context in a wait", c.judgeStop, func() []scenario {
			return each(0, c.units-1, func(i int) scenario {
				in := 2 * time.Second << (i % 6)
				where := fmt.Sprintf("the context ends %v after the connection was cut, with the server down,", in)
				return c.at(i, scenario{where: where, fate: cut, lasts: time.Hour, lets: -1, cancelIn: in})
			})
		}),
	}
	if c.dials {
		return groups[1:]
	}
	return groups
}

// outageGroups returns the groups of what happens once, for an hour mostly, and of restarts.
func (c *check) outageGroups() []group {
	down := func(name string, fate fate, lets int, where string) group {
		return c.atMiddle(scenario{name: name, where: where + " for an hour,", fate: fate, lasts: time.Hour, lets: lets}, c.judgeBreak)
	}
	idle := scenario{fate: cut, at: -1, afterwards: time.Hour, where: "an hour of quiet, then the connection is cut"}
	if !c.dials {
		idle = c.at(c.units-1, scenario{fate: cut, afterwards: time.Hour, where: "an hour without events, then the connection is cut,"})
	}
	idle.name = "idle"
	flapping := func(name string, fate fate, after time.Duration, where string) group {
		return group{name, only(scenario{name: name, at: -1, flaps: true, fate: fate, after: after, where: "each connection " + where}), c.flapping}
	}
	groups := []group{
		flapping("flapping", cut, 0, "delivers one value and is cut"),
		flapping("flapping, end", ends, 0, "delivers one value and is ended by the server"),
		flapping("flapping, silence", silence, 0, "delivers one value and falls silent"),
		flapping("flapping, two minutes", cut, worked, "works for two minutes and is cut"),
		c.group("idle", c.judgeBreak, only(idle)),
		down("down", cut, -1, "the server refuses connections"),
		down("accept and end", ends, 0, "the server accepts connections and ends them at once,"),
	}
	if c.dials {
		groups = append(groups,
			down("accept, write and end", ends, 1, "the server accepts connections and ends each after a write,"),
			down("accept, write twice and end", ends, 2, "the server accepts connections and ends each after two writes,"))
	}
	groups = append(groups, group{"two clients", func() []scenario {
		if c.noJitter {
			return nil
		}
		return []scenario{{name: "two clients", fate: cut, at: c.units / 2, lasts: recovery, lets: -1, where: "two clients lose their connections at the same time"}}
	}, c.twins})
	if c.dials {
		groups = append(groups, c.atUnits(scenario{name: "restart", where: "the server is stopped, and started again after a second,", fate: cut, restart: true}, false, c.judgeBreak))
	}
	return groups
}

// judgeBreak judges a client whose connection broke.
func (c *check) judgeBreak(o *outcome) []judge.Fault {
	if len(o.record.asked) > 0 && o.fate == cut && !o.hour() && o.again == 0 {
		c.positions[o.at] = o.record.asked[0]
	}
	return c.judgeDelivery(o)
}

// flapping lets each connection break after its first value: at once, and if the client cannot stand that cut, two
// minutes later. Waits are random, so a client never starts over only if it does not three times in both.
func (c *check) flapping(t *testing.T, sc scenario) (found []judge.Fault, o *outcome) {
	once := sc.after > 0 || sc.fate != cut
	for _, after := range []time.Duration{0, worked} {
		for range 3 {
			sc.after = max(sc.after, after)
			if o = c.play(t, sc); o.stuck != nil {
				return nil, o
			}
			what := c.neverResets(o)
			found = slices.DeleteFunc(c.judgeDelivery(o), func(f judge.Fault) bool { return !c.flapFault(f, o, what) })
			if once || what == "" || slices.ContainsFunc(found, func(f judge.Fault) bool { return Kind(f.Kind) != prove.Lost && Kind(f.Kind) != prove.Repeated }) {
				return found, o
			}
		}
	}
	if o.ended && c.reported(prove.GaveUp, prove.Ended, prove.Away) {
		return nil, o // that explains it
	}
	return fault(prove.Reset, "does a delivered value start the waits and the count over, or a connection that has worked for a minute?"+c.either(" (retry.ResetAfterItems(1))", ""),
		"%s", c.neverResets(o)), o
}

// flapFault reports whether a fault counts when connections flap.
func (c *check) flapFault(f judge.Fault, o *outcome, never string) bool {
	switch Kind(f.Kind) {
	case prove.Panic, prove.Hot, prove.Open, prove.Left, prove.Late:
		return true
	case prove.Silent:
		return o.fate == silence && o.after == 0
	case prove.Lost, prove.Repeated:
		// Events that share a position may need one connection.
		shared := c.reported(prove.Lost, prove.Repeated)
		for i, at := range c.positions {
			shared = shared || i >= 0 && at != i
		}
		return never == "" && o.after == 0 && !shared && !c.AtLeastOnce
	}
	return false
}

// neverResets returns what is wrong with a client whose connections flap, "" if nothing is.
func (c *check) neverResets(o *outcome) string {
	waits := o.record.waits
	third := len(waits) / 3
	switch {
	case o.ended && o.err != nil:
		return fmt.Sprintf("it gave up after %s: %q", judge.Count(len(o.record.dials), "connection"), o.err)
	case o.ended && !c.finite:
		return "it ended after " + judge.Count(len(o.record.dials), "connection")
	case third == 0:
		return ""
	}
	first, last := mean(waits[:third]), mean(waits[len(waits)-third:])
	if last <= time.Second || last <= 4*first {
		return ""
	}
	return fmt.Sprintf("its waits grow from %v to %v", first.Round(time.Millisecond), last.Round(time.Millisecond))
}

func mean(all []time.Duration) (d time.Duration) {
	for _, one := range all {
		d += one / time.Duration(len(all))
	}
	return d
}

// twins lets two clients lose their connections at the same moment of their run.
func (c *check) twins(t *testing.T, sc scenario) ([]judge.Fault, *outcome) {
	other := c.play(t, sc)
	if other.stuck != nil {
		return nil, other
	}
	var o *outcome
	for range 2 { // by chance, two may wait alike
		if o = c.play(t, sc); o.stuck != nil || !alike(other.record.waits, o.record.waits) {
			return nil, o
		}
	}
	how, a, b := "about", other.record.waits[:min(len(other.record.waits), 3)], o.record.waits
	if len(a) <= len(b) && slices.Equal(a, b[:len(a)]) {
		how = "exactly"
	}
	return fault(prove.Jitter, "is there jitter in each wait, from random numbers that differ between clients? NoJitter allows equal waits",
		"both wait for %s %v", how, a), o
}

// alike reports whether the waits of two clients differ by less than a hundredth, except perhaps the first one. A wait
// that is none does not count.
func alike(a, b []time.Duration) bool {
	all, differ := 0, 0
	for i := range min(len(a), len(b)) {
		if longer := max(a[i], b[i]); longer >= noWait {
			all++
			if (a[i] - b[i]).Abs() >= longer/100 {
				differ++
			}
		}
	}
	return all > 0 && differ <= min(1, all/3)
}

// lossGroups returns the groups in which the server no longer has the first events.
func (c *check) lossGroups() (groups []group) {
	scenarios := func(more int, where string) func() []scenario {
		return func() []scenario {
			behind := c.units // by how much the server's repetition puts a position back
			for i := 1; i < c.units; i++ {
				if c.delivers(i-1, i) {
					behind = min(behind, max(0, i-c.position(i)))
				}
			}
			return each(1, c.units-1, func(i int) scenario {
				oldest := max(0, i-behind)
				if c.delivers(c.position(i), oldest) {
					oldest = c.position(i) // events that share a position
				}
				return c.at(i, scenario{where: where, fate: cut, gone: oldest + more})
			})
		}
	}
	if !c.forgets {
		return nil
	}
	if !c.AtLeastOnce {
		groups = append(groups, c.group("log begins at the position", c.judgeLag,
			scenarios(0, "the connection is cut, and the server has dropped what it has sent,")))
	}
	return append(groups, c.group("position lost", c.judgeGone,
		scenarios(1, "the connection is cut, and the server has dropped the next event too,")))
}

// position returns the event at which the client came back when its connection was cut before event i.
func (c *check) position(i int) int {
	if at, ok := c.positions[i]; ok {
		return at
	}
	return i
}

// delivers reports whether the events from first to before last deliver a value.
func (c *check) delivers(first, last int) bool { return c.firstOf(first) < c.firstOf(last) }

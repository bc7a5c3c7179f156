// Package judge has what packages prove and reconnecttest share: it compares the values of a run with those of an
// undisturbed one, and collects what is wrong. It knows nothing of networks and of real or virtual time.
package judge

import "slices"

// Fault is a kind of thing that runs of a client have shown to be wrong.
type Fault struct {
	Kind string // one of package prove's
	What string
	Mend string // what usually mends it

	// In a group:

	Where    string // the first of the scenarios that show it
	Shown    int    // scenarios that show it
	Timeline []string
}

// Group collects the faults of scenarios that break a connection in the same way: each kind once.
type Group struct {
	Scenarios int
	Faults    []*Fault
}

// Add adds what a scenario has shown, which may be nothing.
func (g *Group) Add(where string, timeline []string, faults ...Fault) {
	g.Scenarios++
	for _, f := range faults {
		i := slices.IndexFunc(g.Faults, func(other *Fault) bool { return other.Kind == f.Kind })
		if i < 0 {
			i = len(g.Faults)
			f.Where, f.Timeline = where, timeline
			g.Faults = append(g.Faults, &f)
		}
		g.Faults[i].Mend = f.Mend // a later scenario has seen more
		g.Faults[i].Shown++
	}
}

// Allowed is what a client may do: what its user has allowed, and deliver foreign values if it does so undisturbed.
type Allowed struct{ AtLeastOnce, AnyOrder, GivesUp, Latest, Foreign bool }

// Lost returns the values that a run should have delivered and has not.
func (a Allowed) Lost(t *Tally) []any {
	if a.Latest {
		return t.Lost(len(t.taken) - 1)
	}
	return t.Lost(0)
}

// Done reports whether all has come that must.
func (a Allowed) Done(t *Tally) bool { return t.Complete() || a.Latest && t.LastCame() }

// Values judges the values that came, but not those that are lost.
func (a Allowed) Values(t *Tally) (all []Fault) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.repeated) > 0 && !a.AtLeastOnce {
		all = append(all, Fault{Kind: "repeated", What: "repeated " + AtMost3(t.repeated),
			Mend: "does it ask for what follows the last value? If it cannot, AtLeastOnce, or --at-least-once, allows repeated values"})
	}
	if len(t.foreign) > 0 && !a.Foreign {
		all = append(all, Fault{Kind: "foreign", What: "it delivered " + AtMost3(t.foreign) + ", which it does not deliver undisturbed",
			Mend: "does it take half a value for a whole one? A value counts when its end has come"})
	}
	swapped := t.swapped
	if a.Latest {
		swapped = slices.Concat(swapped, t.older)
	}
	if len(swapped) > 0 && !a.AnyOrder {
		all = append(all, Fault{Kind: "order", What: "it delivered " + AtMost3(swapped) + " after later values",
			Mend: "does an old connection still deliver? AnyOrder, or --any-order, allows that"})
	}
	return all
}

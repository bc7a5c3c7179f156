// Package judge has what packages prove and reconnecttest share: it compares the values of a run with those of an
// undisturbed one, and collects what is wrong. It knows nothing of networks and of real or virtual time.
package judge

// Fault is one thing that a run of a client has shown to be wrong.
type Fault struct {
	Kind string // one of package prove's
	What string
	Mend string // what usually mends it
	All  string // instead of Mend, if nearly every scenario of the group shows the fault
}

// Found is a fault, with the first of the scenarios of a group that show it.
type Found struct {
	Fault
	Where     string
	Shown     int // scenarios that show it
	Scenarios int // of the group
	Timeline  []string
}

// Group collects the faults of scenarios that break a connection in the same way: each kind once.
type Group struct {
	Scenarios int
	Found     []*Found
}

// Add adds what a scenario has shown, which may be nothing.
func (g *Group) Add(where string, timeline []string, faults ...Fault) {
	g.Scenarios++
	for _, f := range faults {
		found := g.find(f.Kind)
		if found == nil {
			found = &Found{Fault: f, Where: where, Timeline: timeline}
			g.Found = append(g.Found, found)
		}
		found.Mend, found.All = f.Mend, f.All // a later scenario has seen more
		found.Shown++
	}
	for _, f := range g.Found {
		f.Scenarios = g.Scenarios
	}
}

func (g *Group) find(kind string) *Found {
	for _, f := range g.Found {
		if f.Kind == kind {
			return f
		}
	}
	return nil
}

// Advice returns what usually mends the fault.
func (f *Found) Advice() string {
	if f.All != "" && f.Shown >= f.Scenarios-2 { // but for the first and the last event
		return f.All
	}
	return f.Mend
}

// Allowed is what a user has allowed a client.
type Allowed struct{ AtLeastOnce, AnyOrder, GivesUp, Latest bool }

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
	wrong := t.Wrong()
	if len(wrong.Repeated) > 0 && !a.AtLeastOnce {
		all = append(all, Fault{Kind: "repeated", What: "repeated " + AtMost3(wrong.Repeated),
			Mend: "does it ask for what follows the last value? If it cannot, AtLeastOnce allows repeated values"})
	}
	if len(wrong.Foreign) > 0 {
		all = append(all, Fault{Kind: "foreign", What: "it delivered " + AtMost3(wrong.Foreign) + ", which it does not deliver undisturbed",
			Mend: "does it take half a value for a whole one? A value counts when its end has come"})
	}
	swapped := wrong.Swapped
	if a.Latest {
		swapped = append(swapped, wrong.Older...)
	}
	if len(swapped) > 0 && !a.AnyOrder {
		all = append(all, Fault{Kind: "order", What: "it delivered " + AtMost3(swapped) + " after later values",
			Mend: "does an old connection still deliver? AnyOrder allows that"})
	}
	return all
}

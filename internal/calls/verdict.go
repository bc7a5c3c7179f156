package calls

import (
	"slices"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// Verdict is what the runs of a program have shown.
type Verdict struct {
	rules Rules
	runs  []*Run
	again []*Run // 503 throughout, played again to see whether waits were equal by chance
	found judge.Group
	names map[string][]string // of the ways that have shown a kind
}

// Judge judges runs, the first of which is undisturbed. A run may be nil.
func Judge(rules Rules, runs []*Run) *Verdict {
	v := &Verdict{rules: rules, runs: slices.DeleteFunc(runs, func(r *Run) bool { return r == nil }), names: map[string][]string{}}
	v.rules.Expected = v.runs[0].Result
	timed := v.of(Throughout)
	for _, r := range v.of(twice503) {
		v.rules.Recovers = r.succeeded()
	}
	for _, r := range v.runs {
		v.add(r, v.rules.Faults(r)...)
	}
	if same, found := v.alike(rules); same > 0 {
		v.add(timed[0], found...)
	}
	return v
}

// of returns the runs of a way that can be judged.
func (v *Verdict) of(name string) []*Run {
	return slices.DeleteFunc(slices.Clone(v.runs), func(r *Run) bool { return r.Way.Name != name || len(r.Stuck) > 0 })
}

// Add judges a run whose way is played again. It may be nil.
func (v *Verdict) Add(r *Run) {
	if r != nil {
		v.add(r, v.rules.Faults(r)...)
		if r.Way.Name == Throughout && len(r.Stuck) == 0 {
			v.again = append(v.again, r)
		}
	}
}

func (v *Verdict) add(r *Run, faults ...judge.Fault) {
	v.found.Add(r.Way.Name, r.Timeline, faults...)
	for _, f := range faults {
		v.names[f.Kind] = append(v.names[f.Kind], r.Way.Name)
	}
}

// certain reports whether a kind is certain: two runs have shown it, or one in virtual time, where nothing is by chance.
// Equal waits are if all runs have them, or else all that were played again: a small jitter often makes three of five equal.
func (v *Verdict) certain(f *judge.Fault) bool {
	if f.Kind == "jitter" && !v.rules.Virtual {
		same, found := v.alike(v.rules)
		return same == len(v.of(Throughout)) || len(v.again) > 0 && len(found) > 0
	}
	return f.Shown > 1 || v.rules.Virtual
}

// alike returns how many runs waited equally long. It judges that, unless some that were played again waited otherwise.
func (v *Verdict) alike(rules Rules) (same int, found []judge.Fault) {
	timed := v.of(Throughout)
	same, found = rules.Jitter(timed)
	if most, _ := rules.Jitter(append(timed, v.again...)); most < same+len(v.again) {
		return same, nil
	}
	return same, found
}

// Uncertain returns the ways that are to be played again, to make a kind of fault certain.
func (v *Verdict) Uncertain() (ways []Way) {
	for _, f := range v.found.Faults {
		if i := slices.IndexFunc(v.runs, func(r *Run) bool { return r.Way.Name == f.Where }); !v.certain(f) {
			ways = append(ways, v.runs[i].Way)
			if f.Kind == "jitter" {
				ways = append(ways, v.runs[i].Way) // one may be equal by chance
			}
		}
	}
	return ways
}

// Certain returns the faults that are certain, each kind once.
func (v *Verdict) Certain() []*judge.Fault {
	return slices.DeleteFunc(slices.Clone(v.found.Faults), func(f *judge.Fault) bool { return !v.certain(f) })
}

// Hidden returns the kinds that are not certain, and would have been found if waits were shorter by as much as the
// machine stood still: nobody knows whether they are there.
func (v *Verdict) Hidden() (kinds []string) {
	rules := v.rules
	rules.lenient = true
	_, all := v.alike(rules)
	for _, r := range v.runs {
		all = append(all, rules.often(r)...)
	}
	for _, f := range all {
		certain := slices.ContainsFunc(v.Certain(), func(c *judge.Fault) bool { return c.Kind == f.Kind })
		if (f.Kind == "hot" || f.Kind == "jitter") && !certain && !slices.Contains(kinds, f.Kind) {
			kinds = append(kinds, f.Kind)
		}
	}
	return kinds
}

// mostPressed is the largest part of the time in which something may wait for a processor while waits are measured, and
// somePressed if waits were equal until some were played again.
const mostPressed, somePressed = 0.9, 0.3

// Pressed reports whether waits differ from run to run, and are waits, and this may be so because something waited for a
// processor in a part of the time.
func (v *Verdict) Pressed(part float64) bool {
	rules, timed := v.rules, v.of(Throughout)
	rules.NoJitter = false
	waits := slices.ContainsFunc(timed, func(r *Run) bool { return len(r.waits()) > 1 })
	hot := slices.ContainsFunc(v.Certain(), func(f *judge.Fault) bool { return f.Kind == "hot" })
	same, equal := v.alike(rules)
	return waits && !hot && len(equal) == 0 && (part > mostPressed || same > 0 && part > somePressed)
}

// Scenarios returns the number of runs of the ways that have shown a fault.
func (v *Verdict) Scenarios(f *judge.Fault) int {
	return max(f.Shown, count(v.runs, func(r *Run) bool { return slices.Contains(v.names[f.Kind], r.Way.Name) }))
}

// Rows returns a row for each way.
func (v *Verdict) Rows() (rows []Row) {
	for _, r := range v.runs {
		if !slices.ContainsFunc(rows, func(row Row) bool { return row.Way == r.Way.Name }) {
			rows = append(rows, r.Row())
		}
	}
	return rows
}

// Policy returns the policy that the waits show: those of 503, or else, if that is not retried, of resets.
func (v *Verdict) Policy() Policy {
	var awaited *Run
	for _, awaited = range v.of(Silence) {
	}
	p := Infer(v.of(Throughout), awaited, v.rules.Virtual)
	if other := Infer(v.of(resets), awaited, v.rules.Virtual); p.Text == "" && other.Text != "" {
		other.Why += "; 503 is not retried"
		return other
	}
	return p
}

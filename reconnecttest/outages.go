package reconnecttest

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// flapping lets each connection break after its first value: at once, and if the client cannot stand that, after two
// minutes. Waits are random, so a client is wrong only if it is wrong three times in both.
func (s *subject) flapping(t *testing.T) (found []*finding) {
	var never *finding
	gaveUp := false
	for _, after := range []time.Duration{0, slowness} {
		for range 3 {
			sc := scenario{outage: outage{at: -1, flaps: true, after: after}, where: "each connection delivers one value and is cut"}
			var what string
			found = s.try(t, []scenario{sc}, func(o *outcome) []fault {
				what, gaveUp = s.neverResets(o), o.ended
				// What it delivers is no matter: the events of a shared position may need one connection.
				return slices.DeleteFunc(s.delivery(o), func(f fault) bool { return f.kind != "panic" && f.kind != "hot" })
			})
			if what == "" || len(found) > 0 {
				return found
			}
			never = &finding{where: sc.where, fault: fault{kind: "reset", what: what,
				mend: "does a delivered value start the waits and the count over?" + s.either(" (retry.ResetAfterItems(1))", "")}}
		}
	}
	if gaveUp && slices.ContainsFunc(notBack, func(kind string) bool { return s.reported[kind] }) {
		return nil // that explains it
	}
	return []*finding{never}
}

// notBack are the faults of a client that does not come back.
var notBack = []string{"gave up", "ended", "away"}

// neverResets says what is wrong with a client whose connections flap, "" if nothing is.
func (s *subject) neverResets(o *outcome) string {
	waits := o.net.waits
	third := len(waits) / 3
	switch {
	case o.ended && o.err != nil:
		return fmt.Sprintf("it gave up after %s: %q", count(len(o.net.dials), "connection"), o.err)
	case o.ended && !s.ends:
		return fmt.Sprintf("it ended after %s", count(len(o.net.dials), "connection"))
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

// twins lets two clients lose their connections at the same instant: each in its bubble, whose times are the same.
func (s *subject) twins(t *testing.T) []*finding {
	if s.noJitter {
		return nil
	}
	sc := scenario{outage: outage{fate: cut, at: s.units / 2, lasts: recovery}, where: "two clients lose their connections at the same time"}
	var waits [][]time.Duration
	frozen := s.try(t, []scenario{sc, sc}, func(o *outcome) []fault {
		waits = append(waits, o.net.waits)
		return nil
	})
	if frozen != nil {
		return frozen
	}
	k := min(len(waits[0]), len(waits[1]))
	if k == 0 || !slices.Equal(waits[0][:k], waits[1][:k]) || slices.Max(waits[0][:k]) == 0 {
		return nil
	}
	return []*finding{{where: sc.where, fault: fault{kind: "jitter",
		what: fmt.Sprintf("both wait for exactly %v", waits[0][:min(k, 3)]),
		mend: "is there jitter, from random numbers that differ between clients? NoJitter allows equal waits"}}}
}

// losses returns the groups in which the server no longer has the first events.
func (s *subject) losses() []group {
	scenarios := func(more int, where string) func() []scenario {
		return func() []scenario {
			behind := s.units // by how much the server's repetition puts a position back
			for i := 1; i < s.units; i++ {
				if s.delivers(i-1, i) {
					behind = min(behind, max(0, i-s.position(i)))
				}
			}
			return each(1, s.units-1, func(i int) scenario {
				oldest := max(0, i-behind)
				if s.delivers(s.position(i), oldest) {
					oldest = s.position(i) // events that share a position
				}
				return scenario{outage: outage{fate: cut, at: i, gone: oldest + more}, where: where + ", " + s.unit(i)}
			})
		}
	}
	var groups []group
	if !s.repeats {
		groups = append(groups, s.group("log begins at the position", s.lagging,
			scenarios(0, "the connection is cut, and the server has dropped what it has sent")))
	}
	return append(groups, s.group("position lost", s.losing,
		scenarios(1, "the connection is cut, and the server has dropped the next event too")))
}

// position returns the event at which the client came back when its connection was cut before event i.
func (s *subject) position(i int) int {
	if at, ok := s.positions[i]; ok {
		return at
	}
	return i
}

// delivers reports whether the events from first to before last deliver a value.
func (s *subject) delivers(first, last int) bool {
	return slices.ContainsFunc(s.of, func(unit int) bool { return unit >= first && unit < last })
}

// comesBack judges a client whose connection broke.
func (s *subject) comesBack(o *outcome) []fault {
	if len(o.net.asked) > 0 && o.fate == cut && !o.hour {
		s.positions[o.at] = o.net.asked[0]
	}
	return s.delivery(o)
}

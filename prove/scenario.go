package prove

import (
	"fmt"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// place is where a chunk of the undisturbed run began.
type place struct {
	chunk
	number int // of the chunk, from 1
	before int // that had come before it
}

// spread returns at most n of them, evenly, the first and the last among them.
func spread[T any](all []T, n int) []T {
	if len(all) <= n {
		return all
	}
	spaced := make([]T, n)
	for i := range spaced {
		spaced[i] = all[i*(len(all)-1)/max(n-1, 1)]
	}
	return spaced
}

// scenario is what happens to the connections of a run.
type scenario struct {
	way   Way
	group string
	where string
	plan  []breaking
	since time.Time // when the undisturbed run was at its first break
}

// refusal is for how long connections are refused.
const refusal = 2 * time.Second

// scenarios returns those of a way.
func (u undisturbed) scenarios(way Way) (all []scenario) {
	add := func(p place, group, where string, plan ...breaking) {
		plan[0].before = p.before
		all = append(all, scenario{way: way, group: group, where: group + " " + where, plan: plan, since: p.came})
	}
	name := func(p place) string {
		return fmt.Sprintf("chunk %d of %d (connection %d, byte %d)", p.number, u.chunks, p.conn+1, p.at)
	}
	switch way {
	case Cut, End, Silence:
		for _, p := range u.places {
			add(p, string(way), "before "+name(p), breaking{way: way, conn: p.conn, at: p.at})
		}
		if way != Silence && !u.finite {
			last := u.places[len(u.places)-1]
			add(last, string(way), "after the last value", breaking{way: way, conn: lastConnection})
		}
	case Amid:
		for _, p := range spread(u.parts(), 2*u.most) {
			where := fmt.Sprintf("in %s, after %s", name(p.place), judge.Count(p.into, "byte"))
			for _, how := range []breaking{{way: End}, {way: Cut}} {
				how.conn, how.at, how.into = p.conn, p.at+int64(p.into), p.into
				add(p.place, fmt.Sprintf("amid (%s)", packet(how.way)), where, how)
			}
		}
	case Refuse:
		for _, p := range spread(u.places, 3) {
			for _, how := range []Way{Cut, End} {
				add(p, fmt.Sprintf("refuse (%s)", packet(how)), "for "+refusal.String()+" from "+name(p), breaking{way: how, conn: p.conn, at: p.at, refuse: refusal})
			}
		}
	case Twice:
		middle := u.places[len(u.places)/2]
		for _, both := range []Way{Cut, End, Silence} {
			for i, at := range u.early {
				add(middle, fmt.Sprintf("twice (%s)", both),
					fmt.Sprintf("before %s, and before byte %d of the next connection (where chunk %d of the first began)", name(middle), at, i+1),
					breaking{way: both, conn: middle.conn, at: middle.at}, breaking{way: both, conn: nextConnection, at: at})
			}
		}
	}
	return all
}

// part is a place in the middle of a chunk.
type part struct {
	place
	into int
}

func (u undisturbed) parts() (all []part) {
	for _, p := range u.places {
		for _, into := range p.parts {
			all = append(all, part{p, into})
		}
	}
	return all
}

// packet is what TCP sends when a connection breaks so.
func packet(way Way) string {
	if way == End {
		return "FIN"
	}
	return "RST"
}

// elsewhere returns the scenario with its first break in whichever connection it is, after as many values.
func (s scenario) elsewhere() scenario {
	s.plan = slices.Clone(s.plan)
	s.plan[0].conn = anyConnection
	s.where += fmt.Sprintf(", here after %s", judge.Count(s.plan[0].before, "value"))
	return s
}

// afterLast is the time from the last value to a break after it.
const afterLast = 100 * time.Millisecond

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

// spread returns at most n of the places, evenly, the first and the last among them.
func spread(all []place, n int) []place {
	if len(all) <= n {
		return all
	}
	spaced := make([]place, n)
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
		halved := slices.DeleteFunc(slices.Clone(u.places), func(p place) bool { return p.half == 0 })
		for _, p := range halved {
			at := p.at + int64(p.half)
			add(p, "amid (FIN)", "in "+name(p), breaking{way: End, conn: p.conn, at: at, amid: true})
			add(p, "amid (RST)", "in "+name(p), breaking{way: Cut, conn: p.conn, at: at, amid: true})
		}
	case Refuse:
		for _, p := range spread(u.places, 3) {
			add(p, "refuse", "for "+refusal.String()+" from "+name(p), breaking{way: Cut, conn: p.conn, at: p.at, refuse: refusal})
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

// elsewhere returns the scenario with its first break in whichever connection it is, after as many values.
func (s scenario) elsewhere() scenario {
	s.plan = slices.Clone(s.plan)
	s.plan[0].conn = anyConnection
	s.where += fmt.Sprintf(", here after %s", judge.Count(s.plan[0].before, "value"))
	return s
}

// afterLast is the time from the last value to a break after it.
const afterLast = 100 * time.Millisecond

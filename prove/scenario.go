package prove

import (
	"fmt"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// place is where a chunk of the undisturbed run began.
type place struct {
	chunk
	number int // of the chunk, from 1
	values int // that had come before it
}

// spread returns at most n of the places, evenly, the first and the last among them.
func spread(all []place, n int) []place {
	if len(all) <= n {
		return all
	}
	if n == 1 {
		return all[:1]
	}
	few := make([]place, n)
	for i := range few {
		few[i] = all[i*(len(all)-1)/(n-1)]
	}
	return few
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
func (u *undisturbed) scenarios(way Way) (all []scenario) {
	add := func(p place, group, where string, plan ...breaking) {
		plan[0].values = p.values
		all = append(all, scenario{way: way, group: group, where: group + " " + where, plan: plan, since: p.came})
	}
	name := func(p place) string {
		return fmt.Sprintf("chunk %d of %d (connection %d, byte %d)", p.number, u.chunks, p.conn+1, p.at)
	}
	each := func(group string, b breaking) {
		for _, p := range u.places {
			b.conn, b.at = p.conn, p.at
			add(p, group, "before "+name(p), b)
		}
		if b.fate == silent || u.ends {
			return
		}
		b.conn = lastConnection
		add(u.places[len(u.places)-1], group, "after the last value", b)
	}
	middle := u.places[len(u.places)/2]
	switch way {
	case Cut:
		each("cut", breaking{fate: gone})
	case End:
		each("end", breaking{fate: over})
	case Silence:
		each("silence", breaking{fate: silent})
	case Amid:
		for _, p := range u.places {
			if p.half == 0 {
				continue
			}
			for _, b := range []breaking{{fate: over}, {fate: gone}} {
				b.conn, b.at, b.amid = p.conn, p.at+int64(p.half), true
				add(p, map[fate]string{over: "amid (FIN)", gone: "amid (RST)"}[b.fate], "in "+name(p), b)
			}
		}
	case Refuse:
		for i, p := range []place{u.places[0], middle, u.places[len(u.places)-1]} {
			if i == 0 || p.number != u.places[0].number && (i == 1 || p.number != middle.number) {
				add(p, "refuse", "for "+refusal.String()+" from "+name(p), breaking{fate: gone, conn: p.conn, at: p.at, refuse: refusal})
			}
		}
	case Twice:
		for _, f := range []fate{gone, over, silent} {
			for i, at := range u.early {
				add(middle, "twice "+map[fate]string{gone: "(cut)", over: "(end)", silent: "(silence)"}[f],
					fmt.Sprintf("before %s, and before byte %d of the next connection (where chunk %d of the first began)", name(middle), at, i+1),
					breaking{fate: f, conn: middle.conn, at: middle.at}, breaking{fate: f, conn: nextConnection, at: at})
			}
		}
	}
	return all
}

// elsewhere returns the scenario with its first break in whichever connection it is, after as many values.
func (s scenario) elsewhere() scenario {
	s.plan = append([]breaking(nil), s.plan...)
	s.plan[0].conn = anyConnection
	s.where += fmt.Sprintf(", here after %s", judge.Count(s.plan[0].values, "value"))
	return s
}

// afterLast is the time from the last value to a break after it.
const afterLast = 100 * time.Millisecond

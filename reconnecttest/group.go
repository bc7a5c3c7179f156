package reconnecttest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
)

// group is a group of scenarios: a subtest.
type group struct {
	name string
	run  func(t *testing.T) []*finding
}

// run runs the groups, and reports what they find.
func (s *subject) run(t testing.TB, groups []group, opts []Option) {
	t.Helper()
	runner, ok := t.(interface {
		Run(string, func(*testing.T)) bool
	})
	if !ok {
		panic(fmt.Sprintf("reconnecttest: %s: t is a %T, want a *testing.T or a struct that embeds one", s.check, t))
	}
	if goroutine.Current().Bubble != 0 {
		panic("reconnecttest: " + s.check + ": called inside a synctest bubble; it makes bubbles of its own, so call it from the test itself")
	}
	for _, option := range opts {
		option(&s.expected)
	}
	_, plain := t.(*testing.T)
	failed := false
	for _, g := range groups {
		if failed {
			return
		}
		runner.Run(g.name, func(sub *testing.T) {
			report := t
			if plain {
				report = sub
			}
			report.Helper()
			if s.ref == nil {
				if trouble := s.measure(sub); trouble != "" {
					failed = true
					report.Errorf("reconnecttest: %s: undisturbed: %s", s.check, trouble)
					return
				}
			}
			for _, f := range g.run(sub) {
				if !s.reported[f.kind] {
					s.reported[f.kind] = true
					report.Errorf("reconnecttest: %s: %s", s.check, f)
				}
			}
		})
	}
}

// each makes a scenario of each number from first to last.
func each(first, last int, f func(i int) scenario) (all []scenario) {
	for i := first; i <= last; i++ {
		all = append(all, f(i))
	}
	return all
}

// group returns a group of scenarios that are judged one by one.
func (s *subject) group(name string, judge func(*outcome) []fault, scenarios func() []scenario) group {
	return group{name, func(t *testing.T) []*finding { return s.try(t, scenarios(), judge) }}
}

// value names a value of the reference, from 1.
func (s *subject) value(number int) string { return atMost3(s.ref[number-1 : number]) }

// breaks returns the groups in which one connection breaks, at each unit.
func (s *subject) breaks() []group {
	before := func(name, text string, o outage, tail bool) group {
		return s.group(name, s.comesBack, func() []scenario {
			all := each(0, s.units-1, func(i int) scenario {
				o.at = i
				where := text + " " + s.unit(i)
				if o.amid {
					where = strings.Replace(where, "before", "in the middle of", 1)
				}
				return scenario{outage: o, where: where}
			})
			if tail && !s.ends {
				o.at = -1
				all = append(all, scenario{outage: o, where: text + " " + s.unit(s.units), afterwards: eventPace})
			}
			return all
		})
	}
	groups := []group{before("cut", "the connection is cut", outage{fate: cut}, true)}
	if s.amid {
		groups = append(groups, before("cut amid", "the connection is cut", outage{fate: cut, amid: true}, false))
	}
	groups = append(groups, before("end", "the server ends the connection", outage{fate: ends}, true))
	if s.amid {
		groups = append(groups, before("end amid", "the server ends the connection", outage{fate: ends, amid: true}, false))
	}
	return append(groups,
		before("silence", "the connection falls silent", outage{fate: silence}, false),
		before("refusal", "the connection is cut, and the next two are refused,", outage{fate: cut, refuse: 2}, false),
		s.group("busy", s.comesBack, func() []scenario {
			return each(1, len(s.ref), func(i int) scenario {
				return scenario{busy: i, where: "the connection is cut while the consumer is busy with " + s.value(i)}
			})
		}))
}

// stops returns the groups in which the consumer stops, or the context ends.
func (s *subject) stops() []group {
	return []group{
		s.group("stop", s.stopping, func() []scenario {
			return each(1, len(s.ref), func(i int) scenario {
				return scenario{stop: i, where: "the consumer stops at " + s.value(i)}
			})
		}),
		s.group("context in a delivery", s.stopping, func() []scenario {
			return each(1, len(s.ref), func(i int) scenario {
				return scenario{cancel: i, where: "the context ends in the delivery of " + s.value(i)}
			})
		}),
		s.group("context in silence", s.stopping, func() []scenario {
			return each(0, s.units-1, func(i int) scenario {
				return scenario{outage: outage{fate: silence, at: i}, cancelIn: time.Second,
					where: "the context ends in a silent connection, " + s.unit(i)}
			})
		}),
		s.group("context in a wait", s.stopping, func() []scenario {
			return each(0, s.units-1, func(i int) scenario {
				in := 2 * time.Second << (i % 6)
				return scenario{outage: outage{fate: cut, at: i, lasts: time.Hour}, cancelIn: in,
					where: fmt.Sprintf("the context ends %v after the connection was cut, with the server down, %s", in, s.unit(i))}
			})
		}),
	}
}

// outages returns the groups of scenarios that happen once.
func (s *subject) outages() []group {
	one := func(name string, sc func() scenario) group {
		return s.group(name, s.comesBack, func() []scenario { return []scenario{sc()} })
	}
	down := func(accepts bool, fate fate, where string) func() scenario {
		return func() scenario {
			return scenario{outage: outage{fate: fate, at: s.units / 2, lasts: time.Hour, accepts: accepts}, hour: true,
				where: where + ", " + s.unit(s.units/2)}
		}
	}
	groups := []group{
		{"flapping", s.flapping},
		one("idle", func() scenario {
			if s.amid {
				return scenario{outage: outage{fate: cut, at: -1}, afterwards: time.Hour, where: "an hour of quiet, then the connection is cut"}
			}
			return scenario{outage: outage{at: s.units - 1, hold: time.Hour},
				where: "an hour without events, then the connection is cut, " + s.unit(s.units-1)}
		}),
		one("down", down(false, cut, "the server refuses connections for an hour")),
		one("accept and end", down(true, ends, "the server accepts connections and ends them at once, for an hour")),
		{"two clients", s.twins},
	}
	if s.amid {
		groups = append(groups, s.group("restart", s.comesBack, func() []scenario {
			return each(0, s.units-1, func(i int) scenario {
				return scenario{outage: outage{fate: cut, at: i, restart: true}, where: "the server is stopped, and started again after a second, " + s.unit(i)}
			})
		}))
	}
	return groups
}

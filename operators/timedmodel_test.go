package operators_test

import (
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// A timed is an operator with a model of it. Sources a and b are at its disposal, and inner, one for each value.
type timed struct {
	name   string
	stream func(in inputs) strs
	model  func(l *timeline, in inputs)
}

type inputs struct {
	a, b   moments
	inner  map[string]moments // by value
	n      int                // a small number, at least 1
	d      time.Duration
	opened func(strs) strs // notes the sources
}

func (in inputs) first() strs           { return in.opened(fromScript(in.a.script())) }
func (in inputs) second() strs          { return in.opened(fromScript(in.b.script())) }
func (in inputs) innerOf(v string) strs { return in.opened(fromScript(in.inner[v].script())) }

var timeds = []timed{
	{"TakeUntil", func(in inputs) strs { return operators.TakeUntil(in.first(), in.second()) }, func(l *timeline, in inputs) {
		l.follow(in.a, l.emit)
		l.follow(in.b, func(what string) {
			switch what {
			case "|":
			case "#":
				l.emit("#")
			default:
				l.emit("|")
			}
		})
	}},
	{"WithLatestFrom", func(in inputs) strs { return operators.WithLatestFrom(in.first(), in.second(), join) }, func(l *timeline, in inputs) {
		latest, known := "", false
		var held []string // what a would have done, had it not been held at its first value
		step := func(what string) {
			switch {
			case !known && (len(held) > 0 || what != "|" && what != "#"):
				held = append(held, what)
			case what == "|" || what == "#":
				l.emit(what)
			case latest != "":
				l.emit(what + latest)
			}
		}
		l.follow(in.a, step)
		l.follow(in.b, func(what string) {
			switch what {
			case "|":
			case "#":
				l.emit("#")
				return
			default:
				latest = what
			}
			known = true
			for _, what := range held {
				step(what)
			}
			held = nil
		})
	}},
	{"Sample", func(in inputs) strs { return operators.Sample(in.first(), in.second()) }, func(l *timeline, in inputs) {
		latest := ""
		l.follow(in.a, func(what string) {
			if latest = what; what == "|" || what == "#" {
				l.emit(what)
			}
		})
		l.follow(in.b, func(what string) {
			if what == "|" || what == "#" {
				l.emit(what)
			} else if latest != "" {
				l.emit(latest)
				latest = ""
			}
		})
	}},
	{"CombineLatest", func(in inputs) strs { return operators.CombineLatest(in.first(), in.second(), join) }, func(l *timeline, in inputs) {
		var latest [2]string
		ended := 0
		for i, m := range []moments{in.a, in.b} {
			l.follow(m, func(what string) {
				switch {
				case what == "#":
					l.emit("#")
				case what == "|":
					if ended++; ended == 2 || latest[i] == "" {
						l.emit("|")
					}
				default:
					if latest[i] = what; latest[1-i] != "" {
						l.emit(latest[0] + latest[1])
					}
				}
			})
		}
	}},
	{"Race", func(in inputs) strs { return operators.Race(in.first(), in.second()) }, func(l *timeline, in inputs) {
		var off [2]func()
		for i, m := range []moments{in.a, in.b} {
			off[i] = l.follow(m, func(what string) {
				off[1-i]()
				l.emit(what)
			})
		}
	}},
	{"ZipWith", func(in inputs) strs { return operators.ZipWith(in.first(), in.second(), join) }, func(l *timeline, in inputs) {
		var held [2]string
		rest := [2]moments{in.a, in.b}
		var next func(i int)
		next = func(i int) {
			if len(rest[i]) == 0 {
				return
			}
			m := rest[i][0]
			rest[i] = rest[i][1:]
			l.at(max(m.at, l.now), func() {
				if m.ends() {
					l.emit(m.what)
					return
				}
				if held[i] = m.what; held[1-i] != "" {
					l.emit(held[0] + held[1])
					held = [2]string{}
					next(0)
					next(1)
				}
			})
		}
		next(0)
		next(1)
	}},
	{"ConcatMap", func(in inputs) strs { return operators.ConcatMap(in.first(), in.innerOf) }, flatMapModel(func(int) int { return 1 })},
	{"FlatMap", func(in inputs) strs { return operators.FlatMap(in.first(), in.n, in.innerOf) }, flatMapModel(func(n int) int { return n })},
	{"SwitchMap", func(in inputs) strs { return operators.SwitchMap(in.first(), in.innerOf) }, func(l *timeline, in inputs) {
		off, running, open := func() {}, false, true
		l.follow(in.a, func(what string) {
			switch what {
			case "#":
				l.emit("#")
			case "|":
				if open = false; !running {
					l.emit("|")
				}
			default:
				off()
				running = true
				off = l.follow(in.inner[what].later(l.now), func(what string) {
					if what != "|" {
						l.emit(what)
					} else if running = false; !open {
						l.emit("|")
					}
				})
			}
		})
	}},
	{"ExhaustMap", func(in inputs) strs { return operators.ExhaustMap(in.first(), in.innerOf) }, func(l *timeline, in inputs) {
		running, open := false, true
		l.follow(in.a, func(what string) {
			switch {
			case what == "#":
				l.emit("#")
			case what == "|":
				if open = false; !running {
					l.emit("|")
				}
			case !running:
				running = true
				l.follow(in.inner[what].later(l.now), func(what string) {
					if what != "|" {
						l.emit(what)
					} else if running = false; !open {
						l.emit("|")
					}
				})
			}
		})
	}},
	{"Batch", func(in inputs) strs {
		return operators.Map(operators.Batch(in.first(), in.n, in.d), func(values []string) string { return strings.Join(values, "") })
	}, func(l *timeline, in inputs) {
		batch, n, off := "", 0, func() {}
		flush := func() {
			off()
			if batch != "" {
				l.emit(batch)
			}
			batch, n = "", 0
		}
		l.follow(in.a, func(what string) {
			if what == "|" || what == "#" {
				flush()
				l.emit(what)
				return
			}
			if n == 0 {
				off = l.at(l.now+in.d, flush)
			}
			batch += what
			if n++; n == in.n {
				flush()
			}
		})
	}},
	{"Window", func(in inputs) strs {
		return operators.Window(in.first(), in.n, in.d, func(window strs) strs {
			return window.Take(2).Concat(stream.Of("/"))
		})
	}, func(l *timeline, in inputs) {
		n, off := 0, func() {}
		var open func()
		shut := func() { // what follows the window's end
			if n < 2 {
				l.emit("/")
			}
			open()
		}
		open = func() {
			off()
			n = 0
			off = l.at(l.now+in.d, shut)
		}
		open()
		l.follow(in.a, func(what string) {
			switch what {
			case "#":
				l.emit("#")
			case "|":
				if n < 2 {
					l.emit("/")
				}
				l.emit("|")
			default:
				if n++; n <= 2 {
					l.emit(what)
				}
				if n == 2 {
					l.emit("/")
				}
				if n == in.n {
					shut()
				}
			}
		})
	}},
	{"GroupBy", func(in inputs) strs {
		return operators.GroupBy(in.first(), func(v string) string { return v }, func(key string, group strs) strs {
			return operators.Scan(group.Take(2), key+":", join)
		})
	}, func(l *timeline, in inputs) {
		groups := map[string]int{}
		l.follow(in.a, func(what string) {
			if what == "|" || what == "#" {
				l.emit(what)
				return
			}
			groups[what]++
			l.emit(what + ":" + strings.Repeat(what, 1+(groups[what]+1)%2))
		})
	}},
	{"RepeatWhen", func(in inputs) strs {
		return operators.RepeatWhen(in.first(), func(ends completions) completions { return ends.Delay(in.d).Take(in.n) })
	}, func(l *timeline, in inputs) {
		runs := 0
		var run func()
		run = func() {
			l.follow(in.a.later(l.now), func(what string) {
				if runs++; what != "|" {
					runs--
					l.emit(what)
				} else if runs > in.n {
					l.emit("|")
				} else {
					l.at(l.now+in.d, run)
				}
			})
		}
		run()
	}},
}

// flatMapModel is FlatMap's, where the source waits with its next value until one of the streams has ended.
func flatMapModel(concurrency func(n int) int) func(*timeline, inputs) {
	return func(l *timeline, in inputs) {
		rest, running, open, held := in.a, 0, true, false
		var next func()
		next = func() {
			if len(rest) == 0 {
				return
			}
			m := rest[0]
			rest = rest[1:]
			happen := func() {
				switch m.what {
				case "#":
					l.emit("#")
				case "|":
					if open = false; running == 0 {
						l.emit("|")
					}
				default:
					running++
					l.follow(in.inner[m.what].later(l.now), func(what string) {
						if what != "|" {
							l.emit(what)
							return
						}
						if running--; held {
							held = false
							next()
						} else if running == 0 && !open {
							l.emit("|")
						}
					})
					if held = running == concurrency(in.n); !held {
						next()
					}
				}
			}
			l.at(max(m.at, l.now), happen)
		}
		next()
	}
}

// Operators do at each moment what simple models of them do, whatever their sources do, until the consumer stops or its
// context ends; and then their sources have returned.
func TestTimedModel(t *testing.T) {
	for _, op := range timeds {
		t.Run(op.name, func(t *testing.T) {
			compared := 0
			for seed := range uint64(400) {
				r := rand.New(rand.NewPCG(seed, 1))
				in := inputs{a: random(r, "a"), b: random(r, "b"), n: 1 + r.IntN(4), d: time.Duration(1+r.IntN(4000)) * ms, inner: map[string]moments{}}
				for i, v := range []string{"a0", "a1", "a2"} {
					in.inner[v] = random(r, []string{"x", "y", "z"}[i])
				}
				stop, cancel := 1+r.IntN(8), time.Duration(1+r.IntN(20_000))*ms
				l := &timeline{}
				op.model(l, in)
				l.at(cancel, func() { l.emit("!"); l.over = true })
				want := l.run()
				if stop <= len(want) && !want[stop-1].ends() && want[stop-1].what != "!" {
					want = append(want[:stop:stop], moment{want[stop-1].at, "<"})
				}
				if l.chance {
					continue
				}
				compared++
				synctest.Test(t, func(t *testing.T) {
					began, returned := 0, 0
					in.opened = func(s strs) strs {
						return func(ctx context.Context, yield func(string) bool) error {
							counting.Lock()
							began++
							counting.Unlock()
							return returns(s, &returned)(ctx, yield)
						}
					}
					n := 0
					got := playWith(cancelAt(t, cancel), op.stream(in), func(string) bool { n++; return n < stop })
					if got != want.script() {
						t.Errorf("seed %d, a %s, b %s, inner %v, n %d, d %v\ngot  %s\nwant %s",
							seed, in.a.script(), in.b.script(), in.inner, in.n, in.d, got, want.script())
					}
					if counting.Lock(); began != returned {
						t.Errorf("seed %d: %d sources began, %d have returned", seed, began, returned)
					}
					counting.Unlock()
				})
				if t.Failed() {
					return
				}
			}
			if compared < 300 {
				t.Errorf("only %d cases are no matter of chance", compared)
			}
		})
	}
}

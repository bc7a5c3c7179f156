package operators_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

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

// model is what a stream should do: its values, and whether it fails then.
type model struct {
	values []int
	fails  bool
}

// step is one operator of a chain, on streams and on models.
type step struct {
	name   string
	stream func(stream.Stream[int]) stream.Stream[int]
	model  func(model) model
}

func total(values []int) int {
	sum := 0
	for _, v := range values {
		sum += v
	}
	return sum
}

func each(f func([]int) []int) func(model) model {
	return func(m model) model { return model{f(m.values), m.fails} }
}

// whole is a model of what has a result only if the stream ends well.
func whole(f func([]int) []int) func(model) model {
	return func(m model) model {
		if m.fails {
			return model{fails: true}
		}
		return model{values: f(m.values)}
	}
}

// cutAt is the first n values, without the failure if they are all that is wanted.
func cutAt(n int) func(model) model {
	return func(m model) model {
		if n > len(m.values) {
			return m
		}
		return model{values: m.values[:n]}
	}
}

func times(n int) func(model) model {
	return func(m model) model {
		if m.fails && n > 0 {
			return m
		}
		return model{values: slices.Repeat(m.values, n)}
	}
}

// inPieces calls f for each n values in a row and for the rest.
func inPieces(n int, f func([]int) []int) func([]int) []int {
	return func(values []int) (all []int) {
		for piece := range slices.Chunk(values, n) {
			all = append(all, f(piece)...)
		}
		return all
	}
}

func same(m model) model { return m }

type ints = stream.Stream[int]

// steps are the operators of which the chains are made, with small parameters.
func steps(t *rapid.T) step {
	n := rapid.IntRange(0, 6).Draw(t, "n")
	inner := func(v int) ints { return stream.Range(v, (v%3+3)%3) }
	sum := func(values []int) int { return total(values) }
	odd := func(v int) bool { return v%2 != 0 }
	all := []step{
		{"Map", func(s ints) ints { return operators.Map(s, func(v int) int { return v*3 - n }) }, each(func(values []int) (all []int) {
			for _, v := range values {
				all = append(all, v*3-n)
			}
			return all
		})},
		{"Filter", func(s ints) ints { return s.Filter(odd) }, each(func(values []int) []int {
			return slices.DeleteFunc(slices.Clone(values), func(v int) bool { return !odd(v) })
		})},
		{"Take", func(s ints) ints { return s.Take(n) }, cutAt(n)},
		{"Skip", func(s ints) ints { return s.Skip(n) }, each(func(values []int) []int { return values[min(n, len(values)):] })},
		{"Scan", func(s ints) ints { return operators.Scan(s, n, add) }, each(func(values []int) (all []int) {
			at := n
			for _, v := range values {
				at += v
				all = append(all, at)
			}
			return all
		})},
		{"Reduce", func(s ints) ints { return operators.Reduce(s, n, add) }, whole(func(values []int) []int { return []int{n + total(values)} })},
		{"Count", operators.Count[int], whole(func(values []int) []int { return []int{len(values)} })},
		{"Pairwise", func(s ints) ints {
			return operators.Map(operators.Pairwise(s), func(p operators.Pair[int, int]) int { return p.Second - p.First })
		}, each(func(values []int) (all []int) {
			for i := range max(len(values)-1, 0) {
				all = append(all, values[i+1]-values[i])
			}
			return all
		})},
		{"Distinct", operators.Distinct[int], each(func(values []int) (all []int) {
			for _, v := range values {
				if !slices.Contains(all, v) {
					all = append(all, v)
				}
			}
			return all
		})},
		{"DistinctUntilChanged", operators.DistinctUntilChanged[int], each(func(values []int) []int { return slices.Compact(slices.Clone(values)) })},
		{"First", func(s ints) ints { return operators.First(stream.Of(n).Concat(s)) }, func(model) model { return model{values: []int{n}} }},
		{"Last", func(s ints) ints { return operators.Last(stream.Of(n).Concat(s)) }, whole(func(values []int) []int {
			return []int{append([]int{n}, values...)[len(values)]}
		})},
		{"ConcatMap", func(s ints) ints { return operators.ConcatMap(s, inner) }, each(func(values []int) (all []int) {
			for _, v := range values {
				for i := range (v%3 + 3) % 3 {
					all = append(all, v+i)
				}
			}
			return all
		})},
		{"FlatMap", func(s ints) ints { return operators.FlatMap(stream.Of(n), 2, func(int) ints { return s }) }, same},
		{"FlatMap of values", func(s ints) ints {
			return operators.FlatMap(s, n+2, func(int) ints { return stream.Of(n) })
		}, each(func(values []int) []int { return slices.Repeat([]int{n}, len(values)) })},
		{"GroupBy, the values", func(s ints) ints {
			return operators.GroupBy(s, func(v int) int { return v % 3 }, func(_ int, group ints) ints { return group })
		}, same},
		{"SwitchMap", func(s ints) ints { return operators.SwitchMap(stream.Of(n), func(int) ints { return s }) }, same},
		{"GroupBy", func(s ints) ints {
			return operators.GroupBy(s, func(int) int { return n }, func(_ int, group ints) ints { return operators.Reduce(group, 0, add) })
		}, func(m model) model {
			if m.fails {
				return model{fails: true}
			}
			if len(m.values) == 0 {
				return m
			}
			return model{values: []int{total(m.values)}}
		}},
		{"Batch", func(s ints) ints { return operators.Map(operators.Batch(s, n+1, 0), sum) }, each(inPieces(n+1, func(p []int) []int { return []int{total(p)} }))},
		{"Batch with a wait", func(s ints) ints { return operators.Map(operators.Batch(s, n+1, time.Hour), sum) }, each(inPieces(n+1, func(p []int) []int { return []int{total(p)} }))},
		{"Window", func(s ints) ints {
			return operators.Window(s, n+1, 0, func(window ints) ints { return window.Take(2) })
		}, each(inPieces(n+1, func(p []int) []int { return p[:min(2, len(p))] }))},
		{"Window with a span", func(s ints) ints {
			return operators.Window(s, n+1, time.Hour, func(window ints) ints { return window.Skip(1) })
		}, each(inPieces(n+1, func(p []int) []int { return p[1:] }))},
		{"ZipWith", func(s ints) ints { return operators.ZipWith(s, stream.Range(0, math.MaxInt), add) }, each(func(values []int) (all []int) {
			for i, v := range values {
				all = append(all, v+i)
			}
			return all
		})},
		{"Repeat", func(s ints) ints { return s.Repeat(n % 3) }, times(n % 3)},
		{"RepeatWhen", func(s ints) ints {
			return operators.RepeatWhen(s, func(ends completions) completions { return ends.Take(n % 3) })
		}, times(n%3 + 1)},
		{"TakeUntil", func(s ints) ints { return operators.TakeUntil(s, stream.Never[int]()) }, same},
		{"Race", func(s ints) ints { return operators.Race(stream.Never[int](), s) }, same},
		{"Share", func(s ints) ints { return operators.Share(s) }, same},
		{"Buffer", func(s ints) ints { return s.Buffer(n) }, same},
		{"Merge", func(s ints) ints { return s.Merge(stream.Empty[int]()) }, same},
		{"MapErr", func(s ints) ints { return operators.MapErr(s, func(err error) error { return err }) }, same},
	}
	return rapid.SampledFrom(all).Draw(t, "step")
}

// Any chain of operators does to a stream what the same chain of slice functions does to its values.
func TestModel_ChainsBehaveLikeSlices(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := model{
			values: rapid.SliceOfN(rapid.IntRange(-5, 20), 0, 12).Draw(rt, "values"),
			fails:  rapid.Bool().Draw(rt, "fails"),
		}
		s := stream.FromSlice(m.values)
		if m.fails {
			s = s.Concat(stream.Fail[int](errBoom))
		}
		var chain []string
		for range rapid.IntRange(1, 6).Draw(rt, "length") {
			next := steps(rt)
			s, m = next.stream(s), next.model(m)
			chain = append(chain, next.name)
		}
		for range 2 { // it can be run again
			got, err := s.Collect(t.Context())
			if !slices.Equal(got, m.values) || (err != nil) != m.fails || err != nil && !errors.Is(err, errBoom) {
				rt.Fatalf("%v: got %v, %v, want %v, fails: %v", chain, got, err, m.values, m.fails)
			}
		}
		if len(m.values) == 0 {
			return
		}
		stop := rapid.IntRange(1, len(m.values)).Draw(rt, "stop")
		var got []int
		err := s(t.Context(), func(v int) bool { got = append(got, v); return len(got) < stop })
		if !slices.Equal(got, m.values[:stop]) || err != nil {
			rt.Fatalf("%v, stopped: got %v, %v, want %v", chain, got, err, m.values[:stop])
		}
	})
}

// moment is something that a stream does: a value, "|" or "#".
type moment struct {
	at   time.Duration
	what string
}

func (m moment) ends() bool { return m.what == "|" || m.what == "#" }

// moments are what a stream does, in order: nothing comes after the end, and if there is none it waits forever.
type moments []moment

// script is what cold is given to do so.
func (m moments) script() string {
	var words []string
	for _, each := range m {
		words = append(words, fmt.Sprint(each.at.Milliseconds(), each.what))
	}
	return strings.Join(words, " ")
}

// later is the same when it is run after d.
func (m moments) later(d time.Duration) moments {
	m = slices.Clone(m)
	for i := range m {
		m[i].at += d
	}
	return m
}

// random makes a stream of at most five values, whose names begin with the letter.
func random(r *rand.Rand, letter string) (m moments) {
	at := time.Duration(0)
	next := func() time.Duration { at += time.Duration(1+r.IntN(3000)) * ms; return at }
	for i := range r.IntN(6) {
		m = append(m, moment{next(), fmt.Sprint(letter, i%3)})
	}
	switch r.IntN(6) {
	case 0:
	case 1, 2:
		m = append(m, moment{next(), "#"})
	default:
		m = append(m, moment{next(), "|"})
	}
	return m
}

// timeline runs a model: things happen one after the other, in the order of their times. Two at the same time would
// make the outcome a matter of chance.
type timeline struct {
	now     time.Duration
	waiting []happening
	out     moments
	over    bool
	chance  bool
}

type happening struct {
	at time.Duration
	do func()
	of *bool // whether it has been called off
}

// at has do happen then.
func (l *timeline) at(at time.Duration, do func()) (callOff func()) {
	off := new(bool)
	l.waiting = append(l.waiting, happening{at, do, off})
	return func() { *off = true }
}

// follow has do be called with all that m does.
func (l *timeline) follow(m moments, do func(what string)) (callOff func()) {
	var all []func()
	for _, each := range m {
		all = append(all, l.at(each.at, func() { do(each.what) }))
	}
	return func() {
		for _, off := range all {
			off()
		}
	}
}

func (l *timeline) emit(what string) {
	if l.over {
		return
	}
	l.out = append(l.out, moment{l.now, what})
	l.over = l.out[len(l.out)-1].ends()
}

func (l *timeline) run() moments {
	for !l.over {
		l.waiting = slices.DeleteFunc(l.waiting, func(h happening) bool { return *h.of })
		if len(l.waiting) == 0 {
			break
		}
		slices.SortStableFunc(l.waiting, func(a, b happening) int { return cmp.Compare(a.at, b.at) })
		next := l.waiting[0]
		l.chance = l.chance || len(l.waiting) > 1 && l.waiting[1].at == next.at
		l.waiting = l.waiting[1:]
		l.now = next.at
		next.do()
	}
	return l.out
}

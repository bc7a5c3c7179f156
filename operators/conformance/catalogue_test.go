package conformance_test

import (
	"context"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"iter"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
	"github.com/retrywhen/retrywhen/streamtest"
)

// entry is one source or operator of the library: how to check it, and how docs/operators.md shows it. To add one, add
// it to the catalogue below with its traits, and run
//
//	go test ./operators/conformance -run TestDocument -update
type entry struct {
	name   string   // package and name, as "stream.Filter"
	label  string   // its name in the drawing
	inputs []string // the diagrams of its sources, a line for each run; "name: " first, for names other than source and other
	check  func(t *testing.T, ahead int)
	ahead  int
	racing bool
	traits trait
	draw   func(s *session) (diagram string, legend []string)
	run    func(ctx context.Context, in text, each func(v any) bool) error // a run over in; the other sources never end
	apply  func(text) text                                                 // for a variant
}

// trait is what an operator does differently from most. The tests of the contract say which traits a row lacks.
type trait int

const (
	synchronous   trait = 1 << iota // it runs its source on the caller's goroutine and starts none
	trusting                        // it relies on its source to stop after yield has returned false
	looking                         // synchronous, but it checks the context when its source has ended
	stopping                        // synchronous, but it stops a source that continues under an ended context
	careless                        // not synchronous, but it does not stop such a source
	leavesContext                   // it leaves the check of the context to its source

	passing = synchronous | leavesContext
)

// with returns the entry of an operator with traits, which are combined with |.
func (e entry) with(traits trait) entry {
	e.traits = traits
	return e
}

func (e entry) is(t trait) bool { return e.traits&t == t }

// racing marks an operator whose result with synchronous sources differs from run to run, because its sources run
// concurrently. It is checked only with sources that take time.
const racing = true

// op makes the entry of an operator from a function that applies it, to the sources of its diagrams or those of a
// check.
func op[T any](name, label string, inputs []string, apply func(in []text) stream.Stream[T], isRacing ...bool) entry {
	e := entry{name: name, label: label, inputs: inputs, racing: len(isRacing) > 0}
	over := func(src text) stream.Stream[T] {
		in := make([]text, len(inputs))
		for i := range in {
			in[i] = paced("xyz", time.Duration(3+4*i)*ms, stream.Never[string]()) // 7ms, 11ms: apart from one another
		}
		if len(in) > 0 {
			in[0] = src
		}
		return apply(in)
	}
	e.check = func(t *testing.T, ahead int) {
		if len(inputs) == 0 { // a source
			streamtest.Check(t, func() stream.Stream[T] { return apply(nil) })
			return
		}
		streamtest.CheckOperator(t, streamtest.Operator[string, T]{
			Values: []string{"a", "b", "c", "d"}, Ahead: ahead, Paced: e.racing,
			Apply: over,
		})
	}
	e.run = func(ctx context.Context, src text, each func(v any) bool) error {
		return over(src)(ctx, func(v T) bool { return each(v) })
	}
	e.draw = func(s *session) (string, []string) {
		in := make([]text, len(inputs))
		for i, diagram := range inputs {
			_, diagram = named(i, diagram)
			in[i] = streamtest.Cold[string](s, diagram).Stream
		}
		diagram, meaning := diagramOf(s, 24*ms, apply(in))
		var legend []string
		for _, letter := range slices.Sorted(maps.Keys(meaning)) {
			if text := fmt.Sprint(meaning[letter]); text != letter {
				legend = append(legend, letter+" = "+text)
			}
		}
		return diagram, legend
	}
	return e
}

// checkedAs returns the entry with another one's check.
func (e entry) checkedAs(other entry) entry {
	e.check, e.run = other.check, other.run
	return e
}

// readsAhead returns the entry of an operator whose source makes up to n values while the consumer processes one. A
// negative n means no bound.
func (e entry) readsAhead(n int) entry {
	e.ahead = n
	return e
}

// paced yields each letter after d, and after another d continues with end.
func paced(letters string, d time.Duration, end text) text {
	return stream.FromSlice(append(strings.Split(letters, ""), "")).Delay(d).Filter(func(v string) bool { return v != "" }).Concat(end)
}

// named splits the name off the i-th input.
func named(i int, input string) (name, diagram string) {
	if name, diagram, ok := strings.Cut(input, ": "); ok {
		return name, diagram
	}
	return []string{"source", "other"}[min(i, 1)], input
}

func given(diagrams ...string) []string { return diagrams }

// source makes the entry of a source.
func source[T any](name, label string, st func() stream.Stream[T]) entry {
	return op(name, label, nil, func([]text) stream.Stream[T] { return st() })
}

func tick(time.Time) string    { return "t" }
func first(a, _ string) string { return a }
func join(a, b string) string  { return a + b }

func join3(a, b, c string) string { return a + b + c }

// section is a part of the catalogue.
type section struct {
	title   string
	entries []entry
}

// catalogue lists everything that makes a stream, in the order of docs/operators.md.
var catalogue = []section{
	{"Sources", []entry{
		source("stream.Of", `Of("a", "b")`, func() text { return stream.Of("a", "b") }),
		source("stream.FromSlice", `FromSlice({"a", "b"})`, func() text { return stream.FromSlice([]string{"a", "b"}) }),
		source("stream.FromSeq", "FromSeq(a, b)", func() text { return stream.FromSeq(slices.Values([]string{"a", "b"})) }),
		source("stream.FromSeq2", "FromSeq2((a, nil), (_, err))", func() text {
			return stream.FromSeq2(func(context.Context) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) { _ = yield("a", nil) && yield("", errBoom) }
			})
		}),
		source("stream.FromFunc", "FromFunc(a after 3ms)", func() text {
			return stream.FromFunc(func(ctx context.Context) (string, error) { wait(ctx, 3*ms); return "a", ctx.Err() })
		}),
		source("stream.FromChan", "FromChan(a, b, closed)", func() text {
			c := make(chan string, 2)
			c <- "a"
			c <- "b"
			close(c)
			return stream.FromChan(c)
		}),
		source("stream.FromChans", "FromChans(a, b, error)", func() text {
			return stream.FromChans(func(ctx context.Context) (<-chan string, <-chan error) {
				return paced("ab", 2*ms, stream.Fail[string](errBoom)).Chans(ctx, 0)
			})
		}),
		source("stream.FromCallbacks", "FromCallbacks(push a, push b, error)", func() text {
			return stream.FromCallbacks(func(ctx context.Context, push func(string) bool) error {
				return paced("ab", 2*ms, stream.Fail[string](errBoom))(ctx, push)
			})
		}),
		source("stream.Defer", "Defer(() → Of(a))", func() text {
			return stream.Defer(func(context.Context) text { return stream.Of("a") })
		}),
		source("stream.Using", "Using(open a, Of, close)", func() text {
			open := func(context.Context) (string, error) { return "a", nil }
			return stream.Using(open, func(v string) text { return stream.Of(v) }, func(string) error { return nil })
		}),
		source("stream.Empty", "Empty()", stream.Empty[string]),
		source("stream.Never", "Never()", stream.Never[string]),
		source("stream.Fail", "Fail(err)", func() text { return stream.Fail[string](errBoom) }),
		source("stream.Range", "Range(5, 3)", func() stream.Stream[int] { return stream.Range(5, 3) }),
		source("stream.Timer", "Timer(3ms)", func() text { return operators.Map(stream.Timer(3*ms), tick) }),
		source("stream.Interval", "Interval(5ms)", func() text { return operators.Map(stream.Interval(5*ms), tick) }),
	}},
	{"One value for one", []entry{
		op("operators.Map", "Map(upper case)", given("-a--b--c|"), func(in []text) text { return operators.Map(in[0], strings.ToUpper) }).with(passing | trusting),
		op("operators.TryMap", "TryMap(upper case, no c)", given("-a--b--c|"), func(in []text) text {
			return operators.TryMap(in[0], func(_ context.Context, v string) (string, error) {
				if v == "c" {
					return "", errBoom
				}
				return strings.ToUpper(v), nil
			})
		}).with(passing | stopping),
		op("operators.Scan", "Scan(0, count)", given("-a--b--c|"), func(in []text) stream.Stream[int] {
			return operators.Scan(in[0], 0, func(n int, _ string) int { return n + 1 })
		}).with(passing | trusting),
		op("operators.Pairwise", "Pairwise()", given("-a--b--c|"), func(in []text) text {
			return operators.Map(operators.Pairwise(in[0]), func(p operators.Pair[string, string]) string { return p.First + p.Second })
		}).with(passing | trusting),
		op("operators.MapRetry", "MapRetry(b fails once, wait 4ms)", given("-a-b-c|"), func(in []text) text {
			return stream.Defer(func(context.Context) text {
				failed := false
				return operators.MapRetry(in[0], constant(4*ms), func(_ context.Context, v string) (string, error) {
					if v == "b" && !failed {
						failed = true
						return "", errBoom
					}
					return strings.ToUpper(v), nil
				}, operators.MapRetryOptions[string]{})
			})
		}, racing).readsAhead(9),
	}},
	{"One value for all", []entry{
		op("operators.Reduce", "Reduce(\"\", join)", given("-a--b--c|"), func(in []text) text { return operators.Reduce(in[0], "", join) }).with(passing),
		op("operators.Count", "Count()", given("-a--b--c|"), func(in []text) stream.Stream[int] { return operators.Count(in[0]) }).with(passing),
		op("operators.First", "First()", given("-a--b--c|"), func(in []text) text { return operators.First(in[0]) }).with(passing),
		op("operators.Last", "Last()", given("-a--b--c|"), func(in []text) text { return operators.Last(in[0]) }).with(passing),
	}},
	{"Fewer values", []entry{
		op("stream.Filter", "Filter(not b)", given("-a--b--c|"), func(in []text) text { return in[0].Filter(func(v string) bool { return v != "b" }) }).with(passing | trusting),
		op("stream.DropHeartbeats", "DropHeartbeats(is b)", given("-a--b--c|"), func(in []text) text {
			return in[0].DropHeartbeats(func(v string) bool { return v == "b" })
		}).with(passing | trusting),
		op("operators.TryFilter", "TryFilter(not b, no d)", given("-a--b--c--d|"), func(in []text) text {
			return operators.TryFilter(in[0], func(_ context.Context, v string) (bool, error) {
				if v == "d" {
					return false, errBoom
				}
				return v != "b", nil
			})
		}).with(passing | stopping),
		op("stream.Take", "Take(2)", given("-a--b--c|"), func(in []text) text { return in[0].Take(2) }).with(passing),
		op("stream.Skip", "Skip(2)", given("-a--b--c|"), func(in []text) text { return in[0].Skip(2) }).with(passing | trusting),
		op("stream.TakeLast", "TakeLast(2)", given("-a--b--c|"), func(in []text) text { return in[0].TakeLast(2) }).with(passing),
		op("stream.SkipLast", "SkipLast(1)", given("-a--b--c|"), func(in []text) text { return in[0].SkipLast(1) }).with(passing | trusting),
		op("stream.IgnoreElements", "IgnoreElements()", given("-a--b--c|"), func(in []text) text { return in[0].IgnoreElements() }).with(passing),
		op("stream.TakeWhile", "TakeWhile(before c)", given("-a--b--c--a|"), func(in []text) text {
			return in[0].TakeWhile(func(v string) bool { return v < "c" })
		}).with(passing),
		op("stream.SkipWhile", "SkipWhile(before c)", given("-a--b--c--a|"), func(in []text) text {
			return in[0].SkipWhile(func(v string) bool { return v < "c" })
		}).with(passing | trusting),
		op("stream.TakeUntilDone", "TakeUntilDone(closed after 5ms)", given("-a--b--c|"), func(in []text) text {
			return stream.Defer(func(ctx context.Context) text {
				done := make(chan struct{})
				timer := stream.ClockFrom(ctx).AfterFunc(5*ms, func() { close(done) })
				return in[0].TakeUntilDone(done).OnEnd(func(error) { timer.Stop() })
			})
		}).with(careless),
		op("operators.TakeUntil", "TakeUntil(stop)", given("-a--b--c|", "stop: -----x"), func(in []text) text { return operators.TakeUntil(in[0], in[1]) }),
		op("operators.Distinct", "Distinct()", given("-a--b--a--c|"), func(in []text) text { return operators.Distinct(in[0]) }).with(passing | trusting),
		op("operators.DistinctBy", "DistinctBy(upper case)", given("-a--b--A--c|"), func(in []text) text {
			return operators.DistinctBy(in[0], strings.ToUpper)
		}).with(passing | trusting),
		op("operators.DistinctUntilChanged", "DistinctUntilChanged()", given("-a--a--b--a|"), func(in []text) text {
			return operators.DistinctUntilChanged(in[0])
		}).with(passing | trusting),
		op("operators.DistinctUntilChangedBy", "DistinctUntilChangedBy(upper case)", given("-a--A--b--a|"), func(in []text) text {
			return operators.DistinctUntilChangedBy(in[0], strings.ToUpper)
		}).with(passing | trusting),
		op("operators.Sample", "Sample(sampler)", given("-a-b------c-|", "sampler: ----x--x----x"), func(in []text) text {
			return operators.Sample(in[0], in[1])
		}, racing).readsAhead(-1),
		op("stream.Debounce", "Debounce(3ms)", given("-a-b-------c|"), func(in []text) text { return in[0].Debounce(3 * ms) }).readsAhead(1),
		op("stream.Throttle", "Throttle(4ms)", given("-a-b--c-d--e|"), func(in []text) text { return in[0].Throttle(4 * ms) }).with(passing | trusting),
		op("stream.ThrottleLatest", "ThrottleLatest(4ms)", given("-a-b--c-d-----e-|"), func(in []text) text {
			return in[0].ThrottleLatest(4 * ms)
		}, racing).readsAhead(1),
	}},
	{"A stream for each value", []entry{
		op("operators.ConcatMap", "ConcatMap(v at once and 3ms later)", given("-a-b-----c|"), func(in []text) text {
			return operators.ConcatMap(in[0], twice)
		}).with(passing | looking | stopping),
		op("operators.FlatMap", "FlatMap(2, v at once and 3ms later)", given("-a-b-----c|"), func(in []text) text {
			return operators.FlatMap(in[0], 2, twice)
		}, racing).readsAhead(1),
		op("operators.SwitchMap", "SwitchMap(v at once and 3ms later)", given("-a-b-----c|"), func(in []text) text {
			return operators.SwitchMap(in[0], twice)
		}, racing).readsAhead(1),
		op("operators.ExhaustMap", "ExhaustMap(v at once and 3ms later)", given("-a-b-----c|"), func(in []text) text {
			return operators.ExhaustMap(in[0], twice)
		}, racing).readsAhead(-1),
	}},
	{"A stream for many values", []entry{
		op("operators.GroupBy", "GroupBy(upper case, count)", given("-a-b--A-a--B|"), func(in []text) stream.Stream[int] {
			return operators.GroupBy(in[0], strings.ToUpper, func(_ string, group text) stream.Stream[int] {
				return operators.Scan(group, 0, func(n int, _ string) int { return n + 1 })
			})
		}, racing).readsAhead(1),
		op("operators.Window", "Window(2, 0, join)", given("-a-b---c--d-e|"), func(in []text) text {
			return operators.Window(in[0], 2, 0, func(window text) text { return operators.Reduce(window, "", join) })
		}).readsAhead(1),
		op("operators.Batch", "Batch(2, 5ms)", given("-a-b---c--------d|"), func(in []text) stream.Stream[[]string] {
			return operators.Batch(in[0], 2, 5*ms)
		}, racing).readsAhead(1),
	}},
	{"Several streams", []entry{
		op("stream.Concat", "Concat(other)", given("-a--b|", "-c|"), func(in []text) text { return in[0].Concat(in[1]) }).with(passing | looking),
		op("stream.StartWith", "StartWith(x, y)", given("-a--b|"), func(in []text) text { return in[0].StartWith("x", "y") }).with(synchronous | looking),
		op("stream.DefaultIfEmpty", "DefaultIfEmpty(x)", given("---|"), func(in []text) text { return in[0].DefaultIfEmpty("x") }).with(passing | trusting),
		op("stream.SwitchIfEmpty", "SwitchIfEmpty(other)", given("---|", "-x-y|"), func(in []text) text { return in[0].SwitchIfEmpty(in[1]) }).with(passing | trusting),
		op("stream.Merge", "Merge(other)", given("-a----b----c|", "---x-----y|"), func(in []text) text { return in[0].Merge(in[1]) }).readsAhead(1),
		op("operators.Zip", "Zip(other)", given("-a-b------c|", "---x--y----z|"), func(in []text) text {
			return operators.Map(operators.Zip(in[0], in[1]), func(p operators.Pair[string, string]) string { return p.First + p.Second })
		}),
		op("operators.ZipWith", "ZipWith(other, first)", given("-a-b------c|", "---x--y----z|"), func(in []text) text {
			return operators.ZipWith(in[0], in[1], first)
		}),
		op("operators.ZipWith3", "ZipWith3(b, c, join)", given("-a-b------c|", "b: ---x--y----z|", "c: -p-----q--r|"), func(in []text) text {
			return operators.ZipWith3(in[0], in[1], in[2], join3)
		}),
		op("operators.ZipSlice", "ZipSlice(source, other)", given("-a-b------c|", "---x--y----z|"), func(in []text) stream.Stream[[]string] {
			return operators.ZipSlice(in...)
		}),
		op("operators.CombineLatest", "CombineLatest(other, join)", given("-a---b-----|", "---x----y|"), func(in []text) text {
			return operators.CombineLatest(in[0], in[1], join)
		}, racing).readsAhead(1),
		op("operators.CombineLatest3", "CombineLatest3(b, c, join)", given("-a---b-----|", "b: ---x----y|", "c: --p----|"), func(in []text) text {
			return operators.CombineLatest3(in[0], in[1], in[2], join3)
		}, racing).readsAhead(1),
		op("operators.CombineLatestSlice", "CombineLatestSlice(source, other)", given("-a---b-----|", "---x----y|"), func(in []text) stream.Stream[[]string] {
			return operators.CombineLatestSlice(in...)
		}, racing).readsAhead(1),
		op("operators.WithLatestFrom", "WithLatestFrom(other, join)", given("-a---b----c|", "---x----y|"), func(in []text) text {
			return operators.WithLatestFrom(in[0], in[1], join)
		}, racing).with(careless),
		op("operators.Race", "Race(other)", given("---a--b|", "-x--y--z|"), func(in []text) text { return operators.Race(in[0], in[1]) }, racing),
	}},
	{"Several consumers", []entry{
		op("operators.Share", "shared, and again from 5ms on, upper case and 1ms late", given("-a--b--c--d|"), func(in []text) text {
			return twoConsumers(operators.Share(in[0]))
		}).checkedAs(op("", "", given("-a|"), func(in []text) text { return operators.Share(in[0]) }, racing)),
		op("operators.ShareN", "the same with ShareN(2)", given("-a--b--c--d|"), func(in []text) text {
			return twoConsumers(operators.ShareN(in[0], 2))
		}).checkedAs(op("", "", given("-a|"), func(in []text) text { return operators.ShareN(in[0], 1) }, racing)),
		op("operators.ShareReplay", "the same with ShareReplay(1)", given("-a--b--c--d|"), func(in []text) text {
			return twoConsumers(operators.ShareReplay(in[0], 1))
		}).checkedAs(op("", "", given("-a|"), func(in []text) text {
			return stream.Defer(func(context.Context) text { return operators.ShareReplay(in[0], 1) }) // a second run replays the first
		}, racing)),
		source("stream.NewSubject", "NewSubject(1), a 2ms, b 4ms, c 6ms, Close; and again", func() text {
			return sentInto(func(s *stream.Subject[string]) text { return twoConsumers(s.Stream()) })
		}).checkedAs(source("", "", func() text { return sentInto((*stream.Subject[string]).Stream) })),
	}},
	{"Time", []entry{
		op("stream.Delay", "Delay(2ms)", given("-a--b--c|"), func(in []text) text { return in[0].Delay(2 * ms) }).with(passing | stopping),
		op("stream.TimeShift", "TimeShift(3ms, 2)", given("-a-bcd---|"), func(in []text) text { return in[0].TimeShift(3*ms, 2) }).readsAhead(1),
		op("stream.Timeout", "Timeout(4ms)", given("-a--b-------c|"), func(in []text) text { return in[0].Timeout(4 * ms) }).with(synchronous | looking | stopping),
		op("stream.Buffer", "Buffer(2), then Delay(4ms)", given("-abcd-------|"), func(in []text) text { return in[0].Buffer(2).Delay(4 * ms) }).readsAhead(2),
	}},
	{"Looking on", []entry{
		op("stream.Tap", "Tap(f)", given("-a--b--c|"), func(in []text) text { return in[0].Tap(func(string) {}) }).with(passing | trusting),
		op("stream.OnEnd", "OnEnd(f)", given("-a--b--c|"), func(in []text) text { return in[0].OnEnd(func(error) {}) }).with(passing),
	}},
	{"Failing, and going on", []entry{
		op("stream.MustNotEnd", "MustNotEnd(err)", given("-a--b|"), func(in []text) text { return in[0].MustNotEnd(errBoom) }).with(passing | looking),
		op("operators.MapErr", "MapErr(f)", given("-a--b#"), func(in []text) text {
			return operators.MapErr(in[0], func(err error) error { return fmt.Errorf("feed: %w", err) })
		}).with(passing),
		op("stream.Catch", "Catch(other)", given("-a--b#", "--x|"), func(in []text) text {
			return in[0].Catch(func(error) text { return in[1] })
		}).with(passing),
		op("stream.Repeat", "Repeat(2)", given("-a--b|"), func(in []text) text { return in[0].Repeat(2) }).with(synchronous | looking),
		op("operators.RepeatWhen", "RepeatWhen(4ms later, twice)", given("-a|"), func(in []text) text {
			return operators.RepeatWhen(in[0], func(c stream.Stream[operators.Completion]) stream.Stream[operators.Completion] {
				return c.Take(2).Delay(4 * ms)
			})
		}).with(passing | looking),
		op("stream.Retry", "Retry(2)", given("-a#\n-b#\n-c|"), func(in []text) text { return in[0].Retry(2) }).with(passing),
		op("stream.RetryWhen", "RetryWhen(ExpBackoff(None, 1ms, 3))", given("-a#\n-b#\n-c#\n-d|"), func(in []text) text {
			return in[0].RetryWhen(operators.ExpBackoff(jitter.None, ms, 3))
		}).with(passing),
		op("operators.RetryWhen", "RetryWhen(3ms later)", given("-a#\n-b|"), func(in []text) text {
			return operators.RetryWhen(in[0], func(f failures) stream.Stream[string] {
				return operators.ConcatMap(f.Take(5), func(stream.Failure) text { return operators.Map(stream.Timer(3*ms), tick) })
			})
		}).with(passing),
		op("operators.Resume", `Resume("", open, after, 1ms)`, given("open(\"\"): -a-b#\n-c#\n-d|"), func(in []text) text {
			open := func(string) text { return in[0] }
			after := func(at, v string) string { return at + v }
			return operators.Resume("", open, after, constant(ms, retry.Limit(5)))
		}).with(passing),
		op("operators.ResumeMarked", `ResumeMarked("", open, 1ms; x is a bookmark)`, given("open(\"\"): -a-x#\n-x#\n-b|"), func(in []text) text {
			return operators.ResumeMarked("", marking(in[0]), constant(ms, retry.Limit(5)))
		}).with(passing),
		op("operators.ResumePositions", `ResumePositions("", open, 1ms; x is a bookmark)`, given("open(\"\"): -a-x#\n-x#\n-b|"), func(in []text) text {
			all := operators.ResumePositions("", marking(in[0]), constant(ms, retry.Limit(5)))
			return operators.Map(all, func(m operators.Marked[string, string]) string { return m.Value })
		}).with(passing),
		source("operators.Poll", "Poll(5ms, 0, pages of ab, none, c, an error, d; 2ms)", func() text {
			return stream.Defer(func(context.Context) text {
				pages := []string{"ab", "", "c", "#", "d"}
				return operators.Poll(5*ms, 0, func(_ context.Context, at int) ([]string, int, error) {
					if len(pages) == 0 {
						return nil, at, nil
					}
					page := pages[0]
					pages = pages[1:]
					switch page {
					case "":
						return nil, at, nil
					case "#":
						return nil, at, errBoom
					}
					return strings.Split(page, ""), at + len(page), nil
				}, constant(2*ms))
			})
		}),
	}},
}

// twoConsumers runs a shared stream twice: at once, and 5ms later.
func twoConsumers(shared text) text {
	later := operators.ConcatMap(stream.Timer(5*ms), func(time.Time) text { return shared.Delay(ms) })
	return shared.Merge(operators.Map(later, strings.ToUpper))
}

// marking returns an open of ResumeMarked: s with its positions, in which x is a bookmark.
func marking(s text) func(at string) stream.Stream[operators.Marked[string, string]] {
	return func(at string) stream.Stream[operators.Marked[string, string]] {
		return operators.Map(s, func(v string) operators.Marked[string, string] {
			return operators.Marked[string, string]{Value: v, At: at + v, Bookmark: v == "x"}
		})
	}
}

// sentInto returns the stream that consumers makes of a subject, into which a, b and c are sent.
func sentInto(consumers func(*stream.Subject[string]) text) text {
	return func(ctx context.Context, yield func(string) bool) error {
		subject := stream.NewSubject[string](1)
		var sender sync.WaitGroup
		defer sender.Wait()
		sending, cancel := context.WithCancel(ctx)
		defer cancel()
		sender.Go(func() { subject.Close(paced("abc", 2*ms, stream.Empty[string]()).TryForEach(sending, subject.Send)) })
		return consumers(subject)(ctx, yield)
	}
}

func twice(v string) text { return stream.Of(v).Concat(stream.Of(v).Delay(3 * ms)) }

// exempt lists the exported functions of packages stream and operators that are not in the catalogue, with the reason.
var exempt = map[string]string{
	"stream.All":           "a sink",
	"stream.Collect":       "a sink",
	"stream.One":           "a sink",
	"stream.ForEach":       "a sink",
	"stream.TryForEach":    "a sink",
	"stream.Chans":         "a sink",
	"stream.Permanent":     "marks an error",
	"stream.WithClock":     "makes a context",
	"stream.ClockFrom":     "reads a context",
	"stream.AttemptFrom":   "reads a context",
	"stream.ContextError":  "makes an error",
	"stream.Works":         "tells the retried streams around a context",
	"operators.ExpBackoff": "a policy: stream.RetryWhen is drawn with it",
	"operators.RetryChans": "channels in and out; it is stream.FromChans, RetryWhen and Chans",
}

// The catalogue lists every exported source and operator.
func TestCatalogue_IsComplete(t *testing.T) {
	listed := make(map[string]entry)
	for _, section := range catalogue {
		for _, e := range section.entries {
			if listed[e.name].name != "" {
				t.Errorf("%s is in the catalogue twice", e.name)
			}
			listed[e.name] = e
		}
	}
	exported := make(map[string]function)
	for pkg, docs := range packages(t) {
		for name, f := range docs {
			exported[pkg+"."+name] = f
		}
	}
	for name, f := range exported {
		switch e := listed[name]; {
		case e.name != "" && exempt[name] != "":
			t.Errorf("%s is in the catalogue and exempt", name)
		case e.name == "" && exempt[name] == "":
			t.Errorf("%s is missing from the catalogue: add a row, or say in exempt why it has none", name)
		case len(e.inputs) > 0 && !strings.Contains(e.inputs[0], "\n") && !f.drawn: // docs/operators.md draws several runs
			t.Errorf("the comment of %s has no marble diagram, such as\n//\tsource:  --a--b--|", name)
		}
	}
	for name := range listed {
		if _, ok := exported[name]; !ok {
			t.Errorf("%s is in the catalogue and not in the library", name)
		}
	}
	for name := range exempt {
		if _, ok := exported[name]; !ok {
			t.Errorf("%s is exempt and not in the library", name)
		}
	}
}

// function describes an exported function or method of Stream.
type function struct {
	parameters []string // their names
	onStream   bool     // the first parameter is one or more streams
	drawn      bool     // the comment has a marble diagram
}

// packages reads the exported functions, and methods of Stream, of the packages stream and operators.
func packages(t *testing.T) map[string]map[string]function {
	t.Helper()
	all := make(map[string]map[string]function)
	for pkg, pattern := range map[string]string{"stream": "../../stream/*.go", "operators": "../*.go"} {
		all[pkg] = make(map[string]function)
		names, err := filepath.Glob(pattern)
		if err != nil || len(names) == 0 {
			t.Fatal(pattern, err)
		}
		files := token.NewFileSet()
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") || strings.HasSuffix(name, "_go127.go") { // methods, which call the functions
				continue
			}
			file, err := parser.ParseFile(files, name, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range file.Decls {
				if f, ok := d.(*ast.FuncDecl); ok && f.Name.IsExported() && (f.Recv == nil || ofStream(f.Recv)) {
					all[pkg][f.Name.Name] = describe(f)
				}
			}
		}
	}
	return all
}

// diagram finds a line of a marble diagram in a comment.
var diagram = regexp.MustCompile(`(?m)^\t.*--`)

func describe(f *ast.FuncDecl) (d function) {
	d.drawn = diagram.MatchString(f.Doc.Text())
	for i, p := range f.Type.Params.List {
		kind := p.Type
		suffix := ""
		if e, ok := kind.(*ast.Ellipsis); ok {
			kind, suffix = e.Elt, "..."
		}
		if index, ok := kind.(*ast.IndexExpr); ok && i == 0 {
			s, ok := index.X.(*ast.SelectorExpr)
			d.onStream = ok && s.Sel.Name == "Stream"
		}
		for _, name := range p.Names {
			d.parameters = append(d.parameters, name.Name+suffix)
		}
	}
	return d
}

// ofStream reports whether a receiver is a Stream[T].
func ofStream(recv *ast.FieldList) bool {
	index, ok := recv.List[0].Type.(*ast.IndexExpr)
	if !ok {
		return false
	}
	name, ok := index.X.(*ast.Ident)
	return ok && name.Name == "Stream"
}

package operators_test

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

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

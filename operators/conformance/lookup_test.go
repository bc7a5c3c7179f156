package conformance_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// The types and functions that the table's lines use.
type (
	ints    = stream.Stream[int]
	stamped struct {
		value int
		at    time.Time
	}
	note struct {
		value int
		err   error
		end   bool
	}
)

var (
	s        = stream.Of(3, 1, 2).Delay(2 * ms)
	other    = stream.Of(7, 8).Delay(5 * ms)
	none     = stream.Empty[int]()
	streams  = stream.Of(s, other)
	times    = stream.Interval(ms).Take(3)
	notes    = stream.Of(note{value: 3}, note{value: 1}, note{err: errBoom})
	failing  = s.Concat(stream.Fail[int](errBoom))
	anything = stream.Of[any](3, "x", 2)
	errEmpty = errors.New("empty")
	d        = 5 * ms
)

// String shows the time since the start of a bubble.
func (v stamped) String() string {
	return fmt.Sprint(v.value, " at ", v.at.Sub(time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)))
}

func (n note) String() string {
	switch {
	case n.end:
		return "|"
	case n.err != nil:
		return "# " + n.err.Error()
	}
	return fmt.Sprint(n.value)
}

func big(v int) bool        { return v > 2 }
func small(v int) bool      { return v <= 2 }
func yes(int) bool          { return true }
func no(int) bool           { return false }
func valueOf(v int) note    { return note{value: v} }
func isInt(v any) bool      { _, ok := v.(int); return ok }
func self(s ints) ints      { return s }
func later(v int) ints      { return stream.Of(v).Delay(time.Duration(v) * d) }
func fetch() (int, error)   { return 7, nil }
func latest[T any](v []T) T { return v[len(v)-1] }
func children(v int) ints   { return stream.Range(0, v) }
func expand(v int) ints     { return stream.Of(v).Concat(operators.ConcatMap(children(v), expand)) }

// lookedFor is a name of ReactiveX and the code that replaces it. The document shows the argument of does or makes.
type lookedFor struct {
	names string
	run   func() string
	want  string // the result
}

// does runs a stream and returns its result.
func does[T any](s stream.Stream[T]) func() string {
	return func() string {
		v, err := s.Collect(context.Background())
		if err != nil {
			return fmt.Sprint(v, " # ", err)
		}
		return fmt.Sprint(v)
	}
}

// returns calls a sink and returns its result.
func returns[T any](sink func(context.Context) (T, error)) func() string {
	return func() string {
		v, err := sink(context.Background())
		if err != nil {
			return fmt.Sprint("# ", err)
		}
		return fmt.Sprint(v)
	}
}

// makes describes a value that is not a stream.
func makes(v any) func() string {
	return func() string { return fmt.Sprintf("%T", v) }
}

// lookup makes a new table of lines about s, so that nothing in it belongs to another bubble.
func lookup(s ints) []lookedFor {
	return []lookedFor{
		{"all, every", does(operators.Map(s.Filter(small).Take(1), no).DefaultIfEmpty(true)), "[false]"},
		{"amb", does(operators.Race(s, other)), "[3 1 2]"},
		{"any, some, contains, includes", does(operators.Map(s.Filter(big).Take(1), yes).DefaultIfEmpty(false)), "[true]"},
		{"auditTime; holds the values of d", does(operators.Map(operators.Batch(s, math.MaxInt, d), latest)), "[2]"},
		{"average", does(operators.Map(operators.Scan(s, [2]int{}, func(a [2]int, v int) [2]int { return [2]int{a[0] + v, a[1] + 1} }).TakeLast(1), func(a [2]int) float64 { return float64(a[0]) / float64(a[1]) })), "[2]"},
		{"buffer, bufferCount, bufferTime", does(operators.Batch(s, 2, d)), "[[3 1] [2]]"},
		{"concatAll", does(operators.ConcatMap(streams, self)), "[3 1 2 7 8]"},
		{"create", does(ints(func(ctx context.Context, yield func(int) bool) error { _ = yield(7) && yield(8); return nil })), "[7 8]"},
		{"delay", does(s.TimeShift(d, 100)), "[3 1 2]"},
		{"delayWhen", does(operators.FlatMap(s, 100, later)), "[1 2 3]"},
		{"dematerialize", does(operators.TryMap(notes, func(_ context.Context, n note) (int, error) { return n.value, n.err })), "[3 1] # boom"},
		{"doOnNext, do", does(s.Tap(func(int) {})), "[3 1 2]"},
		{"elementAt", does(s.Skip(1).Take(1).SwitchIfEmpty(stream.Fail[int](errEmpty))), "[1]"},
		{"elementAt with a default", does(s.Skip(1).Take(1).DefaultIfEmpty(0)), "[1]"},
		{"endWith", does(s.Concat(stream.Of(9))), "[3 1 2 9]"},
		{"expand", does(expand(2)), "[2 0 1 0]"},
		{"finalize, doFinally", does(s.OnEnd(func(error) {})), "[3 1 2]"},
		{"find, first with a predicate", does(s.Filter(small).Take(1)), "[1]"},
		{"firstValueFrom, blockingFirst, awaitFirst", returns(s.One), "3"},
		{"findIndex", does(operators.Map(operators.Zip(s, stream.Range(0, math.MaxInt)).Filter(func(p operators.Pair[int, int]) bool { return small(p.First) }).Take(1), func(p operators.Pair[int, int]) int { return p.Second }).DefaultIfEmpty(-1)), "[1]"},
		{"forkJoin", does(operators.ZipSlice(s.TakeLast(1), other.TakeLast(1))), "[[2 8]]"},
		{"fromCallable, fromPromise", does(stream.FromFunc(func(context.Context) (int, error) { return fetch() })), "[7]"},
		{"fromEventPattern, Flux.create, callbackFlow", does(stream.FromCallbacks(func(ctx context.Context, push func(int) bool) error { push(7); return nil })), "[7]"},
		{"isEmpty", does(operators.Map(s.Take(1), no).DefaultIfEmpty(true)), "[false]"},
		{"just", does(stream.Of(3, 1, 2)), "[3 1 2]"},
		{"mapTo", does(operators.Map(s, func(int) string { return "x" })), "[x x x]"},
		{"materialize", does(operators.Map(failing, valueOf).Concat(stream.Of(note{end: true})).Catch(func(err error) stream.Stream[note] { return stream.Of(note{err: err}) })), "[3 1 2 # boom]"},
		{"max", does(operators.Scan(s, math.MinInt, func(a, b int) int { return max(a, b) }).TakeLast(1)), "[3]"},
		{"mergeAll", does(operators.FlatMap(streams, 100, self)), "[3 1 7 2 8]"},
		{"min", does(operators.Scan(s, math.MaxInt, func(a, b int) int { return min(a, b) }).TakeLast(1)), "[1]"},
		{"ofType, cast", does(operators.Map(anything.Filter(isInt), func(v any) int { return v.(int) })), "[3 2]"},
		{"onErrorResumeNext", does(failing.Catch(func(error) ints { return other })), "[3 1 2 7 8]"},
		{"onErrorReturn", does(failing.Catch(func(error) ints { return stream.Of(0) })), "[3 1 2 0]"},
		{"Subject, PublishSubject", makes(stream.NewSubject[int](0)), "*stream.Subject[int]"},
		{"ReplaySubject of 1; BehaviorSubject, with a first Send", makes(stream.NewSubject[int](1)), "*stream.Subject[int]"},
		{"publish().refCount()", does(operators.Share(s)), "[3 1 2]"},
		{"replay().refCount(), cache", does(operators.ShareReplay(s, 100)), "[3 1 2]"},
		{"sampleTime, throttleLast", does(operators.Sample(s, stream.Interval(d))), "[1]"},
		{"scan with an index, zipWithIndex", does(operators.Zip(s, stream.Range(0, math.MaxInt))), "[(3, 0) (1, 1) (2, 2)]"},
		{"sum", does(operators.Reduce(s, 0, func(sum, v int) int { return sum + v })), "[6]"},
		{"switchAll, switchOnNext", does(operators.SwitchMap(streams, self)), "[7 8]"},
		{"throttleFirst", does(s.Throttle(d)), "[3]"},
		{"throttleLatest, throttleTime with trailing", does(s.ThrottleLatest(d)), "[3 2]"},
		{"throw, error", does(stream.Fail[int](errBoom)), "[] # boom"},
		{"throwIfEmpty", does(none.SwitchIfEmpty(stream.Fail[int](errEmpty))), "[] # empty"},
		{"timeInterval", does(operators.Map(operators.Pairwise(times), func(p operators.Pair[time.Time, time.Time]) time.Duration { return p.Second.Sub(p.First) })), "[1ms 1ms]"},
		{"timestamp", does(operators.TryMap(s, func(ctx context.Context, v int) (stamped, error) { return stamped{v, stream.ClockFrom(ctx).Now()}, nil })), "[3 at 2ms 1 at 4ms 2 at 6ms]"},
		{"toArray, toList", does(operators.Reduce(s, nil, func(all []int, v int) []int { return append(all, v) })), "[[3 1 2]]"},
		{"toMap", does(stream.Defer(func(context.Context) stream.Stream[map[int]bool] {
			return operators.Reduce(s, map[int]bool{}, func(m map[int]bool, v int) map[int]bool { m[v] = true; return m })
		})), "[map[1:true 2:true 3:true]]"},
	}
}

// Each line does what the name says.
func TestLookup(t *testing.T) {
	for i, each := range lookup(s) {
		bubble(t, each.names, func(t *testing.T) {
			if got := lookup(s)[i].run(); got != each.want {
				t.Errorf("it does %s, want %s", got, each.want)
			}
		})
	}
}

// The lines do the same as ReactiveX' operators for a stream without a value, and for one without a wanted value.
func TestLookup_NothingThere(t *testing.T) {
	unwanted := stream.Of(9)
	for names, want := range map[string][2]string{
		"all, every":                       {"[true]", "[true]"},
		"any, some, contains, includes":    {"[false]", "[true]"},
		"auditTime; holds the values of d": {"[]", "[9]"},
		"average":                          {"[]", "[9]"},
		"elementAt":                        {"[] # empty", "[] # empty"},
		"elementAt with a default":         {"[0]", "[0]"},
		"find, first with a predicate":     {"[]", "[]"},
		"findIndex":                        {"[-1]", "[-1]"},
		"forkJoin":                         {"[]", "[[9 8]]"},
		"isEmpty":                          {"[true]", "[false]"},
		"max":                              {"[]", "[9]"},
		"min":                              {"[]", "[9]"},
		"sum":                              {"[0]", "[9]"},
		"toArray, toList":                  {"[[]]", "[[9]]"},
		"toMap":                            {"[map[]]", "[map[9:true]]"},
	} {
		i := slices.IndexFunc(lookup(s), func(row lookedFor) bool { return row.names == names })
		if i < 0 {
			t.Errorf("there is no row %s", names)
			continue
		}
		synctest.Test(t, func(t *testing.T) {
			for j, s := range []ints{none, unwanted} {
				if got := lookup(s)[i].run(); got != want[j] {
					t.Errorf("%s does %s, want %s", names, got, want[j])
				}
			}
		})
	}
}

// auditTime waits for a first value, then for d. sampleTime samples at fixed times.
func TestLookup_AuditTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		src := paced("abcdefgh", 3*ms, stream.Never[string]()).Take(7).Concat(stream.Never[string]())
		start := time.Now()
		var got []string
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_ = operators.Map(operators.Batch(src, math.MaxInt, d), latest[string]).ForEach(ctx, func(v string) {
			got = append(got, fmt.Sprint(v, " at ", time.Since(start)))
		})
		if want := []string{"b at 8ms", "d at 14ms", "f at 20ms", "g at 26ms"}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	})
}

// lookupTable returns the document's table, from the text of this file.
func lookupTable(t *testing.T) string {
	t.Helper()
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, "lookup_test.go", nil, 0)
	check.Must(t, err)
	source := func(node any) string {
		var b bytes.Buffer
		check.Must(t, format.Node(&b, files, node))
		return strings.Join(strings.Fields(b.String()), " ")
	}
	var rows, needed []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if slices.Contains([]string{"self", "later", "expand", "children", "latest"}, n.Name.Name) {
				needed = append(needed, source(n))
			}
		case *ast.CompositeLit:
			if call := lineOf(n); call != nil {
				names, err := strconv.Unquote(n.Elts[0].(*ast.BasicLit).Value)
				check.Must(t, err)
				rows = append(rows, fmt.Sprintf("| %s | `%s` |", names, strings.ReplaceAll(source(call.Args[0]), "|", `\|`)))
			}
		}
		return true
	})
	if len(rows) != len(lookup(s)) {
		t.Errorf("%d rows, want %d", len(rows), len(lookup(s)))
	}
	slices.SortFunc(rows, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
	return "| You look for | Write |\n|---|---|\n" + strings.Join(rows, "\n") + "\n\n```\n" + strings.Join(needed, "\n") + "\n```\n"
}

// lineOf returns the call that is the second element of a row of lookup, or nil for another literal.
func lineOf(row *ast.CompositeLit) *ast.CallExpr {
	if row.Type != nil || len(row.Elts) != 3 {
		return nil
	}
	call, _ := row.Elts[1].(*ast.CallExpr)
	return call
}

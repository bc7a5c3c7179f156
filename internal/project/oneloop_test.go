package project_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	// They are compiled by the test: a change of them must not leave its result in the cache.
	_ "github.com/retrywhen/retrywhen/operators"
	_ "github.com/retrywhen/retrywhen/stream"
)

// chains are compiled by a test, each in a function of its own, to which $ is stream.Range(0, 9). A chain without ctx
// is followed by ForEach. loops says how often the compiler inlines the last literal of the function: once for each
// loop of the source, and for each other place at which an operator delivers a value. Range and FromSlice have three
// loops: for a context that never ends, for an attempt's under one, and for all others. The compilers of Go 1.26 and
// 1.27 decide alike.
var chains = []struct {
	name  string
	loops int
	chain string
}{
	{"Of", 3, "stream.Of(1, 2, 3)"},
	{"FromSlice", 3, "stream.FromSlice(make([]int, 3))"},
	{"Range", 3, "$"},
	{"FromSeq", 1, "stream.FromSeq(slices.Values([]int{1, 2}))"},
	{"FromSeq2", 1, "stream.FromSeq2(func(context.Context) iter.Seq2[int, error] { return func(yield func(int, error) bool) { yield(1, nil) } })"},
	{"FromFunc", 1, "stream.FromFunc(func(context.Context) (int, error) { return 1, nil })"},
	{"Defer", 3, "stream.Defer(func(context.Context) stream.Stream[int] { return $ })"},
	{"Empty", 1, "stream.Empty[int]().DefaultIfEmpty(1)"},
	{"Fail", 3, "stream.Fail[int](errEnd).Catch(func(error) stream.Stream[int] { return $ })"},

	{"Catch", 6, "$.Catch(func(error) stream.Stream[int] { return stream.Of(1) })"},
	{"Concat", 3, "$.Concat(stream.Of(1))"},
	{"Count", 1, "operators.Count($)"},
	{"DefaultIfEmpty", 4, "$.DefaultIfEmpty(1)"},
	{"Distinct", 3, "operators.Distinct($)"},
	{"DistinctBy", 3, "operators.DistinctBy($, even)"},
	{"DistinctUntilChanged", 3, "operators.DistinctUntilChanged($)"},
	{"DistinctUntilChangedBy", 3, "operators.DistinctUntilChangedBy($, even)"},
	{"Filter", 3, "$.Filter(even)"},
	{"First", 3, "operators.First($)"},
	{"IgnoreElements", 3, "_, _ = $.Tap(func(v int) { sum += v }).IgnoreElements().Collect(ctx)"},
	{"Last", 1, "operators.Last($)"},
	{"Map", 3, "operators.Map($, double)"},
	{"MapErr", 3, "operators.MapErr($, func(error) error { return errEnd })"},
	{"MustNotEnd", 3, "$.MustNotEnd(errEnd)"},
	{"Pairwise", 3, "_ = operators.Pairwise($).ForEach(ctx, func(p operators.Pair[int, int]) { sum += p.Second })"},
	{"Reduce", 1, "operators.Reduce($, 0, plus)"},
	{"Repeat", 3, "$.Repeat(2)"},
	{"Scan", 3, "operators.Scan($, 0, plus)"},
	{"Skip", 3, "$.Skip(1)"},
	{"SkipLast", 3, "$.SkipLast(1)"},
	{"SkipWhile", 3, "$.SkipWhile(even)"},
	{"StartWith", 6, "$.StartWith(1)"},
	{"SwitchIfEmpty", 6, "$.SwitchIfEmpty(stream.Of(1))"},
	{"Take", 3, "$.Take(1)"},
	{"TakeLast", 3, "stream.Of(1, 2, 3).TakeLast(1)"},
	{"TakeWhile", 3, "$.TakeWhile(even)"},
	{"Tap", 3, "$.Tap(func(v int) { sum -= v })"},
	{"TryFilter", 3, "operators.TryFilter($, func(_ context.Context, v int) (bool, error) { return v > 1, nil })"},
	{"TryMap", 3, "operators.TryMap($, func(_ context.Context, v int) (int, error) { return v + 1, nil })"},

	{"All", 4, "for v, err := range $.All(ctx) { if err != nil { return 0 }; sum += v }"},
	{"Collect", 3, "_, _ = $.Tap(func(v int) { sum += v }).Collect(ctx)"},
	{"ForEach", 3, "_ = $.ForEach(ctx, func(v int) { sum += v })"},
	{"One", 3, "_, _ = $.Tap(func(v int) { sum += v }).One(ctx)"},
	{"TryForEach", 3, "_ = $.TryForEach(ctx, func(_ context.Context, v int) error { sum += v; return nil })"},

	{"Long", 1, "operators.Reduce(operators.Scan(operators.TryMap(operators.Map($, double).Filter(even), " +
		"func(_ context.Context, v int) (int, error) { return v + 1, nil }).Take(9).Skip(1), 0, plus), 0, plus)"},
	{"Twice", 0, "$.Filter(even).Filter(func(v int) bool { return v > 2 })"}, // the compiler does not inline an operator into itself
	{"Border", 0, "$.Filter(even).Retry(1)"},                                 // it inlines nothing across an operator that is not inlined itself
}

// methodChains are the chains with methods that Go 1.26 does not have.
var methodChains = map[string]string{
	"Count": "$.Count()", "First": "$.First()", "Last": "$.Last()", "Map": "$.Map(double)", "Reduce": "$.Reduce(0, plus)", "Scan": "$.Scan(0, plus)",
	"DistinctBy":             "$.DistinctBy(even)",
	"DistinctUntilChangedBy": "$.DistinctUntilChangedBy(even)",
	"MapErr":                 "$.MapErr(func(error) error { return errEnd })",
	"TryFilter":              "$.TryFilter(func(_ context.Context, v int) (bool, error) { return v > 1, nil })",
	"TryMap":                 "$.TryMap(func(_ context.Context, v int) (int, error) { return v + 1, nil })",
	"Long": "$.Map(double).Filter(even).TryMap(func(_ context.Context, v int) (int, error) { return v + 1, nil })." +
		"Take(9).Skip(1).Scan(0, plus).Reduce(0, plus)",
}

var decision = regexp.MustCompile(`: (can inline|inlining call to) (\w+)[.-]((?:func|range)\d+)\n`)

// A chain that is built where it runs is one loop. So an operator must stay cheap enough for the compiler to inline it,
// as benchmarks/NOTES.md describes.
//
// To write an operator that keeps it so:
//
//  1. It returns one literal, in its only return statement. An early `return Empty[T]()` makes it two: check inside the literal.
//  2. Its cost is at most 80: `go build -gcflags=-m=2` prints "cannot inline … cost 84 exceeds budget 80". A literal costs
//     15, whatever it contains, and a call that is not inlined 57. So a check that formats goes into a literal passed to
//     `do`.
//  3. `internal/op` is imported only indirectly, and the compiler has no bodies of such functions, except for generic ones. So its
//     operators check their arguments with the generic `require`.
//  4. The literal calls its source itself, once. No other function runs the source: not fold, not a method value such as
//     `out.Deliver`. A literal that yields from several places is fine; the budget of what it yields to is then 160 instead
//     of 800.
//  5. No `defer`, `recover`, `go` or `select` in the literal. Variables that it changes are fine, and `for` is.
//  6. What runs for each item calls no small helpers: in a literal that remains a function the compiler inlines no calls
//     (golang/go#81380). So Range and FromSlice have their look at the context written out.
//  7. Add a chain to `oneloop_test.go` of `internal/project`.
func TestChainIsOneLoop(t *testing.T) {
	inTop(t)
	last, inlined := map[string]string{}, map[string]int{}
	for _, m := range decision.FindAllStringSubmatch(compileChains(t, writeChains(t), "-m"), -1) {
		if m[1] == "can inline" {
			last[m[2]] = m[3]
		} else {
			inlined[m[2]+m[3]]++
		}
	}
	check := func(name string, want int) {
		if got := inlined[name+last[name]]; last[name] == "" || got != want {
			t.Errorf("%s: the compiler inlines the last literal, %q, %d times; want %d", name, last[name], got, want)
		}
	}
	for _, c := range chains {
		check(c.name, c.loops)
		if methodChains[c.name] != "" && !newer("methods_go127.go") {
			check("M"+c.name, c.loops)
		}
	}
}

// writeChains writes a program with the chains, and returns its folder. The function of a method's chain has an M
// before its name.
func writeChains(t *testing.T) (dir string) {
	t.Helper()
	var program strings.Builder
	program.WriteString(`package main
import ("context"; "errors"; "iter"; "slices"; "github.com/retrywhen/retrywhen/operators"; "github.com/retrywhen/retrywhen/stream")
var errEnd = errors.New("the end")
func double(v int) int    { return 2 * v }
func even(v int) bool     { return v%2 == 0 }
func plus(sum, v int) int { return sum + v }
func main() {}
`)
	var methods strings.Builder
	methods.WriteString("//go:build go1.27\npackage main\nimport (\"context\"; \"github.com/retrywhen/retrywhen/stream\")\n")
	function := func(name, chain string) string {
		if chain = strings.ReplaceAll(chain, "$", "stream.Range(0, 9)"); !strings.Contains(chain, "ctx") {
			chain = "_ = " + chain + ".ForEach(ctx, func(v int) { sum += v })"
		}
		return fmt.Sprintf("func %s(ctx context.Context) (sum int) {\n%s\nreturn sum\n}\n", name, chain)
	}
	for _, c := range chains {
		program.WriteString(function(c.name, c.chain))
		if method := methodChains[c.name]; method != "" {
			methods.WriteString(function("M"+c.name, method))
		}
	}
	dir = t.TempDir()
	for file, text := range map[string]string{"main.go": program.String(), "methods_go127.go": methods.String()} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// compileChains returns what the compiler prints for the program in dir with the flags. The other packages have none:
// .ci/run sets all=-l, with which nothing is inlined.
func compileChains(t *testing.T, dir, flags string) string {
	t.Helper()
	args := []string{"build", "-gcflags=all=", "-gcflags=" + flags, "-o", os.DevNull, filepath.Join(dir, "main.go")}
	if !newer("methods_go127.go") {
		args = append(args, filepath.Join(dir, "methods_go127.go"))
	}
	out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput() //nolint:gosec // of this test
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

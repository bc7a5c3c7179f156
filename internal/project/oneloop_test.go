package project_test

import (
	"go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	// They are compiled by the test: a change of them must not leave its result in the cache.
	_ "github.com/retrywhen/retrywhen/operators"
	_ "github.com/retrywhen/retrywhen/stream"
)

// loops has the functions of testdata/oneloop, and how often the compiler inlines the last literal of each: once for
// each loop of the source, and for each other place at which an operator delivers a value. Range and FromSlice have
// three loops: for a context that never ends, for one that can end, and for that of an attempt.
var loops = map[string]int{
	"Of": 3, "FromSlice": 3, "Range": 3, "FromSeq": 1, "FromSeq2": 1, "FromFunc": 1, "Defer": 3, "Empty": 1, "Fail": 3,

	"Catch": 6, "Concat": 3, "Count": 1, "DefaultIfEmpty": 4, "Distinct": 3, "DistinctBy": 3, "DistinctUntilChanged": 3,
	"DistinctUntilChangedBy": 3, "Filter": 3, "First": 3, "IgnoreElements": 3, "Last": 1, "Map": 3, "MapErr": 3,
	"MustNotEnd": 3, "Pairwise": 3, "Reduce": 1, "Repeat": 3, "Scan": 3, "Skip": 3, "SkipLast": 3, "SkipWhile": 3,
	"StartWith": 4, "SwitchIfEmpty": 6, "Take": 3, "TakeLast": 3, "TakeWhile": 3, "Tap": 3, "TryFilter": 3, "TryMap": 3,

	"All": 4, "Collect": 3, "ForEach": 3, "One": 3, "TryForEach": 3,

	"Long": 1, "Twice": 0, "Border": 0,
}

var (
	chain    = regexp.MustCompile(`(?m)^func ([A-Z]\w*)\(`)
	decision = regexp.MustCompile(`: (can inline|inlining call to) (\w+)[.-]((?:func|range)\d+)\n`)
)

// A chain that is built where it runs is one loop. So an operator must stay cheap enough for the compiler to inline it,
// as benchmarks/NOTES.md describes.
func TestChainIsOneLoop(t *testing.T) {
	if lang := version.Lang(runtime.Version()); runtime.Compiler != "gc" || lang != "go1.26" && lang != "go1.27" {
		t.Skipf("the output of %s %s is not known here, that of gc go1.26 and go1.27 is", runtime.Compiler, runtime.Version())
	}
	dir := "internal/project/testdata/oneloop"
	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=-m", "-o", os.DevNull, "./"+dir).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	last, inlined := map[string]string{}, map[string]int{}
	for _, m := range decision.FindAllStringSubmatch(string(out), -1) {
		if m[1] == "can inline" {
			last[m[2]] = m[3]
		} else {
			inlined[m[2]+m[3]]++
		}
	}
	found := map[string]bool{}
	for _, file := range []string{"main.go", "methods_go127.go"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		methods := strings.Contains(string(text), "//go:build go1.27")
		if methods && version.Lang(runtime.Version()) == "go1.26" {
			continue
		}
		for _, m := range chain.FindAllStringSubmatch(string(text), -1) {
			name := m[1]
			if methods {
				name = strings.TrimPrefix(name, "M")
			}
			found[name] = true
			want, ok := loops[name]
			if got := inlined[m[1]+last[m[1]]]; !ok || last[m[1]] == "" || got != want {
				t.Errorf("%s: the compiler inlines the last literal, %q, %d times; want %d", m[1], last[m[1]], got, want)
			}
		}
	}
	for name := range loops {
		if !found[name] {
			t.Errorf("%s: no such function in %s", name, dir)
		}
	}
}

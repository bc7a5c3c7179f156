package project_test

import (
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

// loops has the functions of testdata/oneloop, and how often the compiler inlines the last literal of each: once for
// each loop of the source, and for each other place at which an operator delivers a value. Range and FromSlice have
// four loops: for a context that never ends, for one that can end, and for an attempt's under either. The compilers of
// Go 1.26 and 1.27 decide alike.
var loops = map[string]int{
	"Of": 4, "FromSlice": 4, "Range": 4, "FromSeq": 1, "FromSeq2": 1, "FromFunc": 1, "Defer": 4, "Empty": 1, "Fail": 4,

	"Catch": 8, "Concat": 4, "Count": 1, "DefaultIfEmpty": 5, "Distinct": 4, "DistinctBy": 4, "DistinctUntilChanged": 4,
	"DistinctUntilChangedBy": 4, "Filter": 4, "First": 4, "IgnoreElements": 4, "Last": 1, "Map": 4, "MapErr": 4,
	"MustNotEnd": 4, "Pairwise": 4, "Reduce": 1, "Repeat": 4, "Scan": 4, "Skip": 4, "SkipLast": 4, "SkipWhile": 4,
	"StartWith": 5, "SwitchIfEmpty": 8, "Take": 4, "TakeLast": 4, "TakeWhile": 4, "Tap": 4, "TryFilter": 4, "TryMap": 4,

	"All": 5, "Collect": 4, "ForEach": 4, "One": 4, "TryForEach": 4,

	"Long": 1, "Twice": 0, "Border": 0,
}

var (
	chain    = regexp.MustCompile(`(?m)^func ([A-Z]\w*)\(`)
	decision = regexp.MustCompile(`: (can inline|inlining call to) (\w+)[.-]((?:func|range)\d+)\n`)
)

// A chain that is built where it runs is one loop. So an operator must stay cheap enough for the compiler to inline it,
// as benchmarks/NOTES.md describes.
func TestChainIsOneLoop(t *testing.T) {
	inTop(t)
	last, inlined := map[string]string{}, map[string]int{}
	for _, m := range decision.FindAllStringSubmatch(compileOneLoop(t, "-m"), -1) {
		if m[1] == "can inline" {
			last[m[2]] = m[3]
		} else {
			inlined[m[2]+m[3]]++
		}
	}
	found := map[string]bool{}
	for _, file := range []string{"main.go", "methods_go127.go"} {
		text, err := os.ReadFile(filepath.Join(oneLoop, file))
		if err != nil {
			t.Fatal(err)
		}
		methods := strings.Contains(string(text), "//go:build go1.27")
		if methods && newer(file) {
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
			t.Errorf("%s: no such function in %s", name, oneLoop)
		}
	}
}

const oneLoop = "internal/project/testdata/oneloop"

// compileOneLoop returns what the compiler prints for oneLoop with the flags. The other packages have none:
// .ci/run sets all=-l, with which nothing is inlined.
func compileOneLoop(t *testing.T, flags string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "build", "-gcflags=all=", "-gcflags="+flags, "-o", os.DevNull, "./"+oneLoop).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

package project_test

import (
	"regexp"
	"testing"
)

// A program may have packages compiled with inlining and others without. The linker keeps one copy of a generic
// function, and Go 1.26.8 may call it with a closure made for the other. This is harmless if the literals of both
// capture alike. benchmarks/NOTES.md says when they do not.
func TestCapturesAreTheSameWithoutInlining(t *testing.T) {
	inTop(t)
	dir := writeChains(t)
	captures := func(flags string) map[string]string {
		how := map[string]string{}
		for _, m := range captured.FindAllStringSubmatch(compileChains(t, dir, flags), -1) {
			how[m[1]+m[3]] = m[2]
		}
		return how
	}
	inlined, without := captures("-m=2"), captures("-m=2 -l")
	compared := 0
	for variable, want := range inlined {
		got, ok := without[variable]
		if !ok {
			continue // of a literal that was inlined
		}
		compared++
		if got != want {
			t.Errorf("%s is captured by %s with inlining, by %s without", variable, want, got)
		}
	}
	if compared == 0 {
		t.Errorf("no variable was compared, of %d and %d", len(inlined), len(without))
	}
}

var captured = regexp.MustCompile(`(?m)^(\S+: .*) capturing by (ref|value)(: \S+) `)

package project_test

import (
	"os"
	"os/exec"
	"regexp"
	"testing"

	_ "github.com/retrywhen/retrywhen/operators" // compiled by the test: a change of it must not leave its result in the cache
)

// A program may have packages compiled with inlining and others without. The linker keeps one copy of a generic
// function, and Go 1.26.8 may call it with a closure made for the other. This is harmless if the literals of both
// capture alike. They did not where one variable was captured by a literal that is inlined and by one that is not.
func TestCapturesAreTheSameWithoutInlining(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" {
		t.Skip("it compiles the catalogue of operators twice: RETRYWHEN_NIGHTLY=1")
	}
	inTop(t)
	captures := func(flags string) map[string]string {
		args := []string{"test", "-c", "-gcflags=all=", "-gcflags=" + flags, "-o", os.DevNull, "./operators/conformance"}
		out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput() //nolint:gosec // of this test
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		how := map[string]string{}
		for _, m := range captured.FindAllSubmatch(out, -1) {
			how[string(m[1])+string(m[3])] = string(m[2])
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

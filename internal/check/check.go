// Package check has what the tests of several packages need.
package check

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"
)

// Main runs the tests of a package, and fails if they leave a goroutine. goleak alone waits for half a second until the
// last ones have ended, which is not enough on a busy machine.
func Main(m *testing.M) {
	code := m.Run()
	for tries := 1; code == 0; tries++ {
		left := goleak.Find()
		if left == nil {
			break
		}
		if tries == 60 {
			fmt.Fprintln(os.Stderr, "goroutines are left:", left)
			code = 1
		}
	}
	os.Exit(code)
}

// GoTest runs a test as go test does, and prints the result.
func GoTest(name string, test func(t *testing.T)) {
	verbose := flag.Lookup("test.v").Value.String()
	_ = flag.Set("test.v", "false") // it would write between the Example's lines
	defer func() { _ = flag.Set("test.v", verbose) }()
	processors := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(processors)
	ran := false // once: -count and -cpu are for the Example
	passed := testing.RunTests(func(string, string) (bool, error) { return true, nil },
		[]testing.InternalTest{{Name: name, F: func(t *testing.T) {
			if !ran {
				ran = true
				runtime.GOMAXPROCS(processors)
				test(t)
			}
		}}})
	fmt.Println(name, "passed:", ran && passed)
}

// Bubble runs f as a subtest on virtual time. A goroutine that is left at the end fails it.
func Bubble(t *testing.T, name string, f func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
}

// Must ends the test if there is an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Panics checks the text that f panics with.
func Panics(t *testing.T, want string, f func()) {
	t.Helper()
	if got := Recovered(f); fmt.Sprint(got) != want {
		t.Errorf("panicked with %v, want %s", got, want)
	}
}

// Recovered returns what f panics with, nil if it does not.
func Recovered(f func()) (v any) {
	defer func() { v = recover() }()
	f()
	return nil
}

// Exits reports whether f ends its goroutine with runtime.Goexit.
func Exits(f func()) (yes bool) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		yes = true
		f()
		yes = false
	}()
	<-done
	return yes
}

// After calls f on another goroutine, after that many turns of the scheduler. done is closed when f has returned.
func After(turns int, f func()) (done <-chan struct{}) {
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		for range turns {
			runtime.Gosched()
		}
		f()
	}()
	return returned
}

// Parent is a context that counts what waits for its end: contexts made of it that have not been cancelled, and
// functions.
type Parent struct {
	context.Context
	Waiting atomic.Int64
}

// AfterFunc is what package context calls.
func (p *Parent) AfterFunc(func()) (stop func() bool) {
	p.Waiting.Add(1)
	var stopped atomic.Bool
	return func() bool {
		first := !stopped.Swap(true)
		if first {
			p.Waiting.Add(-1)
		}
		return first
	}
}

// Value hides the embedded context, so that package context does not use it directly.
func (*Parent) Value(any) any { return nil }

var (
	goBlock = regexp.MustCompile("(?ms)^```go\\b[^\n]*\n(.*?)^```")
	indent  = regexp.MustCompile(`(?m)^[ \t]+`)
)

// Document checks that each Go block of a document stands in one of the files, whose tests run it. Only the indentation
// may differ.
func Document(t *testing.T, document string, files ...string) {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	var code strings.Builder
	for _, file := range files {
		code.WriteString("\n" + indent.ReplaceAllString(read(file), ""))
	}
	blocks := goBlock.FindAllStringSubmatch(read(document), -1)
	if len(blocks) == 0 {
		t.Errorf("%s has no Go block", document)
	}
	for _, block := range blocks {
		if !strings.Contains(code.String(), "\n"+indent.ReplaceAllString(block[1], "")) {
			t.Errorf("%s has what is not in %v:\n%s", document, files, block[1])
		}
	}
}

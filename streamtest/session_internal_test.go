package streamtest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// recorder is a virtual.Reporter that records its calls.
type recorder struct {
	mu    sync.Mutex
	texts []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.mu.Lock()
	r.texts = append(r.texts, fmt.Sprintf(format, args...))
	r.mu.Unlock()
}

// Fatalf ends the goroutine, as a T's does.
func (r *recorder) Fatalf(format string, args ...any) {
	r.Errorf(format, args...)
	runtime.Goexit()
}

// reports runs f in a session and returns what the session reports.
func reports(t *testing.T, f func(s *Session)) []string {
	t.Helper()
	r := new(recorder)
	returned := make(chan struct{})
	go func() { // the end of f by Fatalf is not the test's
		defer close(returned)
		run(t, r, func(s *Session) {
			done := make(chan struct{})
			returned := false
			go func() {
				defer close(done)
				f(s)
				returned = true
			}()
			if <-done; !returned {
				s.atEnd = nil // a T's Fatalf would have ended the test here
			}
		})
	}()
	<-returned
	return r.texts
}

// inProcess runs f, which fails the test, in a process of its own and returns what that prints.
func inProcess(t *testing.T, f func()) string {
	t.Helper()
	const key = "STREAMTEST_IN_PROCESS"
	if os.Getenv(key) != "" {
		f()
		t.SkipNow()
	}
	child := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), key+"=1")
	out, err := child.CombinedOutput()
	if err == nil {
		t.Errorf("the test has not failed")
	}
	return string(out)
}

// expectReports checks that each report holds all the words meant for it.
func expectReports(t *testing.T, got []string, want ...[]string) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d reports, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
		return
	}
	for i, words := range want {
		for _, w := range words {
			if !strings.Contains(got[i], w) {
				t.Errorf("report %d says\n%s\nand not %q", i+1, got[i], w)
			}
		}
	}
}

var ranOnce sync.Map

// leavesGoroutines skips a test that has run before in this process: what it leaves behind, on purpose, stays for good
// and slows down all that follows.
func leavesGoroutines(t *testing.T) {
	t.Helper()
	if _, again := ranOnce.LoadOrStore(t.Name(), true); again {
		t.Skip("leaves goroutines behind: once for each process")
	}
}

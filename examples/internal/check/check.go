// Package check has what the tests of all examples need.
package check

import (
	"fmt"
	"os"
	"testing"

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

// Must fails the test at an error.
func Must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

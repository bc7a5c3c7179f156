// Package debian runs servers from Debian packages, for the tests that run nightly.
package debian

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Program returns the path of a program: the last match in a folder that matches one of the patterns, or the one in
// PATH. The test is skipped unless RETRYWHEN_NIGHTLY is 1. It fails if the program is missing.
func Program(t *testing.T, name, pkg string, patterns ...string) string {
	t.Helper()
	if os.Getenv("RETRYWHEN_NIGHTLY") != "1" {
		t.Skipf("RETRYWHEN_NIGHTLY is not 1; the test needs %s of Debian's package %s", name, pkg)
	}
	for _, pattern := range patterns {
		if found, _ := filepath.Glob(filepath.Join(pattern, name)); len(found) > 0 {
			return found[len(found)-1]
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatalf("%v; it is in Debian's package %s", err, pkg)
	}
	return path
}

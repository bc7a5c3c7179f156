// Package debian runs servers from Debian packages, for the tests that run nightly.
package debian

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
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

// FreePort returns a free port.
func FreePort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

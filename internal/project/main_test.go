// Package project_test contains the tests of the project itself: its signatures, its layers, its exported names and its
// documents. They run in the repository's top folder.
package project_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }

// inTop makes the test run in the repository's top folder. A test does it itself, not TestMain, because the go command
// only then knows which files a cached result depends on.
func inTop(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}

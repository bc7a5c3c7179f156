// Package docs_test runs the code of recipes.md and testing.md, and that of shared.md in package retry.
// Folder tutorial has the program of tutorial.md.
package docs_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestDocuments(t *testing.T) {
	check.Document(t, "recipes.md", "recipes_test.go")
	check.Document(t, "shared.md", "../retry/example_shared_test.go")
	check.Document(t, "testing.md", "testing_test.go")
}

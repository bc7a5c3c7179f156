// Package docs_test runs the code of recipes.md, testing.md and tutorial.md, and that of shared.md in package retry.
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
	check.Document(t, "tutorial.md", "tutorial_test.go")
}

// Package docs_test checks the documents of folder docs and runs their code. README's is in docs/readme, the tutorial's
// program in docs/tutorial, and the code of durable.md in durable/embedded.
package docs_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestDocuments(t *testing.T) {
	check.Document(t, "../../docs/recipes.md", "recipes_test.go")
	check.Document(t, "../../docs/shared.md", "../../retry/example_shared_test.go")
	check.Document(t, "../../docs/testing.md", "testing_test.go")
}

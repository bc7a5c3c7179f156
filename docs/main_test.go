// Package docs_test runs the code of the documents: recipes.md, testing.md and tutorial.md. README.md's is in the folder
// above, migrating.md's in benchmarks/migrating.
package docs_test

import (
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }

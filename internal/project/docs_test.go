package project_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

// withCode are the documents with Go blocks. Tests run those of durable.md in durable/embedded, and the others in internal/docs.
var withCode = []string{"README.md", "docs/choosing.md", "docs/durable.md", "docs/recipes.md", "docs/shared.md", "docs/testing.md", "docs/tutorial.md"}

// TestTheDocumentsCodeIsTested looks for code in other documents. AGENTS.md quotes these.
func TestTheDocumentsCodeIsTested(t *testing.T) {
	inTop(t)
	documents, err := filepath.Glob("docs/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatal(documents, err)
	}
	for _, name := range append(documents, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md") {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "\n```go") && !slices.Contains(withCode, name) {
			t.Errorf("%s has a Go block, which no test runs", name)
		}
	}
}

func TestDurableHasTheTestsCode(t *testing.T) {
	inTop(t)
	check.Document(t, "docs/durable.md", "durable/embedded/document_test.go")
}

// TestTheRulesHaveTests checks that the rules of docs/semantics.md are those that the tests are named after.
func TestTheRulesHaveTests(t *testing.T) {
	inTop(t)
	numbers := func(file, pattern string) (found []string) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	rules := numbers("docs/semantics.md", `(?m)^### (\d+)\. `)
	if tests := numbers("stream/retrywhen_test.go", `func TestRule(\d+)_`); len(rules) < 13 || !slices.Equal(rules, tests) {
		t.Errorf("docs/semantics.md has the rules %v, and stream/retrywhen_test.go tests of %v", rules, tests)
	}
}

var (
	namedFile = regexp.MustCompile("`([\\w-]+(?:/[\\w-]+)*/[\\w-]+\\.go)`")
	namedCode = regexp.MustCompile("`(\\w+)`")
)

// TestTheDocumentsNameWhatExists checks a line of a document that names one Go file: the file exists, and so does each
// identifier that stands in backticks on that line, in that file.
func TestTheDocumentsNameWhatExists(t *testing.T) {
	inTop(t)
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, document := range append(documents, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == ';' }) {
			files := namedFile.FindAllStringSubmatch(part, -1)
			for _, file := range files {
				named++
				code, err := os.ReadFile(file[1])
				if err != nil {
					t.Errorf("%s names %s, which does not exist", document, file[1])
					continue
				}
				for _, name := range namedCode.FindAllStringSubmatch(part, -1) {
					if _, err := os.Stat(name[1]); err != nil && len(files) == 1 && !strings.Contains(string(code), name[1]) {
						t.Errorf("%s says that %s is in %s", document, name[1], file[1])
					}
				}
			}
		}
	}
	if named == 0 {
		t.Error("no document names a file: the pattern is wrong")
	}
}

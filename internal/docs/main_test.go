// Package docs_test checks the documents of folder docs and runs their code. README's is in docs/readme, the tutorial's
// program in docs/tutorial, and the code of durable.md in durable/embedded.
package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

func TestDocuments(t *testing.T) {
	check.Document(t, "../../docs/recipes.md", "recipes_test.go")
	check.Document(t, "../../docs/shared.md", "../../retry/example_shared_test.go")
	check.Document(t, "../../docs/testing.md", "testing_test.go")
}

// The table of the words is made from retry.Words, and every curve has a row.
func TestPoliciesHasAllWords(t *testing.T) {
	text, err := os.ReadFile("../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| word | in Go | meaning |\n|---|---|---|\n")
	for _, w := range retry.Words() {
		word := backoff.Word{Name: w.Name, Value: w.Example}
		said, _ := retry.Describe(word, strings.Clone)
		code, _ := retry.Describe(word, func(part string) string {
			if _, err := time.ParseDuration(part); err == nil {
				return "d"
			}
			return part
		})
		fmt.Fprintf(&table, "| `%s` | `%s` | %s |\n", w, code.Go, said.Sentence)
	}
	if !strings.Contains(string(text), "\n\n"+table.String()+"\n") {
		t.Errorf("policies.md does not have the table\n%s", table.String())
	}
	for _, c := range backoff.Curves() {
		_, row, found := strings.Cut(string(text), "\n| `"+c.Name)
		form, _, _ := strings.Cut(row, "`")
		for _, p := range c.Parameters {
			found = found && strings.Contains(form, " "+p+"=")
		}
		if !found {
			t.Errorf("policies.md has no row of %s with %q", c.Name, c.Parameters)
		}
	}
}

var (
	fenced  = regexp.MustCompile("(?ms)^```.*?^```$")
	code    = regexp.MustCompile("`[^`\n]*`")
	link    = regexp.MustCompile(`\]\(([^)#:\s]*)(?:#([^)\s]*))?\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linked  = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
	noPart  = regexp.MustCompile(`[^\w\- ]`)
)

// anchors returns the names of a document's headings, as GitHub makes them.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		name := noPart.ReplaceAllString(strings.ToLower(linked.ReplaceAllString(m[1], "$1")), "")
		names[strings.ReplaceAll(name, " ", "-")] = true
	}
	return names
}

// TestLinks checks that each file and each heading to which a document links exists.
func TestLinks(t *testing.T) {
	count := 0
	for _, pattern := range []string{"docs/*.md", "*.md", "benchmarks/*.md", "benchmarks/*/*.md", "llms.txt"} {
		documents, err := filepath.Glob("../../" + pattern)
		if err != nil || len(documents) == 0 {
			t.Fatal(pattern, documents, err)
		}
		for _, document := range documents {
			text, err := os.ReadFile(document)
			if err != nil {
				t.Fatal(err)
			}
			prose := code.ReplaceAllString(fenced.ReplaceAllString(string(text), ""), "")
			for _, m := range link.FindAllStringSubmatch(prose, -1) {
				count++
				target := document
				if m[1] != "" {
					target = filepath.Join(filepath.Dir(document), m[1])
				}
				if _, err := os.Stat(target); err != nil {
					t.Errorf("%s links to %s: %v", document, m[1], err)
					continue
				}
				if m[2] == "" {
					continue
				}
				there, err := os.ReadFile(target)
				if err != nil || !anchors(string(there))[m[2]] {
					t.Errorf("%s links to %s#%s: no such heading (%v)", document, m[1], m[2], err)
				}
			}
		}
	}
	if count < 100 {
		t.Errorf("found %d links, want at least 100", count)
	}
}

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

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

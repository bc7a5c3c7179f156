package recipes

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// long are the recipes that are an engine, not only a stream.
var long = map[string]bool{"outbox": true, "replication": true}

// A recipe has at most 55 lines of code, a long one 150, not counting imports, comments and empty lines.
func TestRecipesAreShort(t *testing.T) {
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	lines := map[string]int{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, file, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		body := string(text)[set.Position(f.Decls[len(f.Decls)-1].End()).Offset:]
		for line := range strings.Lines(body) {
			if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
				lines[filepath.Dir(file)]++
			}
		}
	}
	if len(lines) == 0 {
		t.Error("found no recipes")
	}
	for recipe, n := range lines {
		most := 55
		if long[recipe] {
			most = 150
		}
		if n > most {
			t.Errorf("%s has %d lines of code, want at most %d", recipe, n, most)
		}
	}
}

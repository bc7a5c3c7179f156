package recipes

import (
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A recipe has at most 55 lines of code, not counting imports, comments and empty lines.
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
		if n > 55 {
			t.Errorf("%s has %d lines of code, want at most 55", recipe, n)
		}
	}
}

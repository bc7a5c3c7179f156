package project_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	selects  = regexp.MustCompile(`(?:-run|-bench)[ =]'?\^?([A-Za-z]\w*)`)
	testName = regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Example|Fuzz)\w*)\(`)
)

// TestTheDocumentsCommandsSelectATest checks that each test or benchmark that a command of a document names exists: go
// test passes without it.
func TestTheDocumentsCommandsSelectATest(t *testing.T) {
	inTop(t)
	var names strings.Builder
	commands := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if err != nil {
			return err
		}
		document := strings.HasSuffix(path, ".md")
		if d.IsDir() || !document && !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if !document {
			for _, m := range testName.FindAllStringSubmatch(string(text), -1) {
				names.WriteString(m[1] + "\n")
			}
			return nil
		}
		for _, m := range selects.FindAllStringSubmatch(string(text), -1) {
			commands[m[1]] = append(commands[m[1]], path)
		}
		return nil
	})
	if err != nil || len(commands) < 20 {
		t.Fatalf("%v, %d commands", err, len(commands))
	}
	for name, in := range commands {
		if !strings.Contains(names.String(), name) {
			t.Errorf("%v: no test or benchmark has %s in its name", in, name)
		}
	}
}

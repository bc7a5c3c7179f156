package project_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ceilings bound parts of the repository: the paths of their files begin with one of in, but with none of no.
var ceilings = []struct {
	name   string
	kind   string // of lines: "code" or "tests"
	most   int
	in, no []string
}{
	{"whole repository", "code", 40133, []string{""}, nil},
	{"whole repository", "tests", 83700, []string{""}, nil},
	{"core, streamtest, reconnecttest and prove", "code", 18340, []string{"stream/", "operators/", "retry/", "backoff/", "jitter/", "internal/",
		"streamtest/", "reconnecttest/", "prove/"}, nil},
	{"cmd and sim without prove and measure", "code", 9350, []string{"cmd/", "sim/"}, []string{"cmd/retrywhen/prove", "cmd/retrywhen/measure"}},
	{"durable", "code", 3960, []string{"durable/"}, nil},
}

// TestSizes fails if a part of the repository is larger than its ceiling. It prints the size of each part, each module,
// and each package of the root module.
func TestSizes(t *testing.T) {
	inTop(t)
	rows, files := sizes(t)
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		t.Logf("%s: %d", name, rows[name])
	}
	for _, c := range ceilings {
		sum := 0
		for file, n := range files {
			begins := func(part string) bool { return strings.HasPrefix(file, part) }
			tests := strings.HasSuffix(file, "_test.go")
			if tests == (c.kind == "tests") && slices.ContainsFunc(c.in, begins) && !slices.ContainsFunc(c.no, begins) {
				sum += n
			}
		}
		t.Logf("total, %s, %s: %d of at most %d lines", c.name, c.kind, sum, c.most)
		if sum > c.most {
			t.Errorf("%s, %s: %d lines, more than the ceiling of %d", c.name, c.kind, sum, c.most)
		}
	}
}

// sizes counts the lines that are neither blank nor a comment, and the words of documents. It returns them for each
// module and package, and for each Go file.
func sizes(t *testing.T) (rows, files map[string]int) {
	t.Helper()
	rows, files = map[string]int{}, map[string]int{}
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if name == "node_modules" || name == "dist" || name == "bin" || strings.HasPrefix(name, ".") && name != "." {
				return fs.SkipDir
			}
			return nil
		}
		kind, count := "", code
		switch path.Ext(name) {
		case ".go":
			kind = "code"
			if strings.HasSuffix(name, "_test.go") {
				kind = "tests"
			}
		case ".js", ".mjs", ".css":
			if path.Ext(name) == ".js" && filepath.Base(filepath.Dir(file)) == "assets" {
				return nil // a bundle of the others
			}
			kind, count = "JS and CSS", script
		case ".md":
			kind = "words"
		default:
			return nil
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if kind == "words" {
			rows["words of Markdown"] += len(strings.Fields(string(text)))
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(file))
		mod, n := moduleOf(dir), count(text)
		rows["module "+mod+", "+kind] += n
		if path.Ext(name) == ".go" {
			files[filepath.ToSlash(file)] = n
		}
		if kind == "code" && mod == "." {
			rows["package "+dir+", code"] += n
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return rows, files
}

// moduleOf returns the folder with the go.mod of a folder.
func moduleOf(dir string) string {
	for ; dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(filepath.FromSlash(dir), "go.mod")); err == nil {
			return dir
		}
	}
	return dir
}

// code returns the number of a Go file's lines with something other than comments.
func code(text []byte) int {
	files := token.NewFileSet()
	file := files.AddFile("", -1, len(text))
	var s scanner.Scanner
	s.Init(file, text, nil, 0)
	lines := map[int]bool{}
	for {
		pos, tok, literal := s.Scan()
		if tok == token.EOF {
			return len(lines)
		}
		if tok == token.SEMICOLON && literal == "\n" {
			continue
		}
		for i, line := range strings.Split(literal, "\n") { // a raw string has many
			if i == 0 || strings.TrimSpace(line) != "" {
				lines[file.Line(pos)+i] = true
			}
		}
	}
}

var blockComment = regexp.MustCompile(`(?s)/\*.*?\*/`)

// script returns the number of lines of JavaScript or CSS that are neither blank nor a comment.
func script(text []byte) int {
	n := 0
	for line := range strings.Lines(blockComment.ReplaceAllString(string(text), "")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}

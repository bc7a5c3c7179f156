package project_test

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// sizesFile has a row for each size: what is counted, and how much of it there is.
const sizesFile = "internal/project/testdata/sizes.txt"

var sizesRow = regexp.MustCompile(`(?m)^(.+): (\d+)$`)

// budgets are parts of the repository that have a bound together: the paths of their files begin so, but not so.
// TestSizes prints their sums.
var budgets = []struct {
	name   string
	in, no []string
}{
	{"whole repository", []string{""}, nil},
	{"core, streamtest, reconnecttest and prove", []string{"stream/", "operators/", "retry/", "backoff/", "jitter/", "internal/",
		"streamtest/", "reconnecttest/", "prove/"}, nil},
	{"cmd and sim without prove", []string{"cmd/", "sim/"}, []string{"cmd/retrywhen/prove"}},
	{"durable", []string{"durable/"}, nil},
}

// TestSizes compares the size of each module, and of each package of the root module, with a table. It fails if one
// differs by more than 50 lines and more than 2 %, either way: who changes a row says why in the commit. With -update
// it writes these rows, also into a table with the marks of a merge's conflict.
func TestSizes(t *testing.T) {
	inTop(t)
	text, err := os.ReadFile(sizesFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	table := map[string]int{}
	for _, m := range sizesRow.FindAllStringSubmatch(string(text), -1) {
		if table[m[1]], err = strconv.Atoi(m[2]); err != nil {
			t.Fatal(err)
		}
	}
	now, files := sizes(t)
	for name, n := range now {
		if was, ok := table[name]; !ok || differ(was, n) {
			if table[name] = n; !*update {
				t.Errorf("%s: %d in %s; it should be\n%s: %d", name, was, sizesFile, name, n)
			}
		}
	}
	for name := range table {
		if _, ok := now[name]; !ok {
			if delete(table, name); !*update {
				t.Errorf("%s: it is in %s, but nowhere else; its row should go", name, sizesFile)
			}
		}
	}
	var rows strings.Builder
	for _, name := range slices.Sorted(maps.Keys(table)) {
		fmt.Fprintf(&rows, "%s: %d\n", name, table[name])
	}
	switch {
	case *update:
		if err := os.WriteFile(sizesFile, []byte(rows.String()), 0o644); err != nil { //nolint:gosec // no secret
			t.Fatal(err)
		}
	case rows.String() != string(text):
		t.Errorf("%s is not up to date, or not sorted: go test ./internal/project -run TestSizes -update", sizesFile)
	}
	for _, b := range budgets {
		sum := 0
		for file, n := range files {
			begins := func(part string) bool { return strings.HasPrefix(file, part) }
			if slices.ContainsFunc(b.in, begins) && !slices.ContainsFunc(b.no, begins) {
				sum += n
			}
		}
		t.Logf("total, %s: %d lines of code", b.name, sum)
	}
}

// differ reports whether a size has moved by more than the table allows.
func differ(was, is int) bool {
	d := max(is-was, was-is)
	return d > 50 && 50*d > was
}

// sizes counts the lines that are neither blank nor a comment, and the words of documents. It returns the rows of the
// table, and the lines of each Go file but tests.
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
		if kind == "code" {
			files[filepath.ToSlash(file)] = n
			if mod == "." {
				rows["package "+dir+", code"] += n
			}
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

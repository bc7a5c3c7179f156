// Package doccode compiles the Go code in documents.
package doccode

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Code lists the names that the code of documents may use without importing or declaring them.
type Code struct {
	Imports map[string]string // the path of each package name
	Given   map[string]string // the declaration of each other name
	Module  string            // the folder of the module in which the code is compiled; "" is the current one
}

// goBlock is a Go block, and the Go version that it needs if that is newer than the module's: ```go 1.27.
var goBlock = regexp.MustCompile("(?ms)^```go(?: (1\\.[0-9]+))?\n(.*?)^```")

// Vet runs go vet on every Go block of the documents and returns the errors. Each block is a package of its own: a
// whole file, declarations with their imports, or statements in a function. The blocks are put temporarily into a
// folder of the module that no pattern matches. A block whose opening line (```go 1.27)
// requires a newer Go than the running one is skipped.
func (c Code) Vet(documents ...string) error {
	dir, err := os.MkdirTemp(cmp.Or(c.Module, "."), "_snippets")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	args := []string{"vet"}
	for _, document := range documents {
		text, err := os.ReadFile(document)
		if err != nil {
			return err
		}
		for _, at := range goBlock.FindAllSubmatchIndex(text, -1) {
			line := 2 + strings.Count(string(text[:at[0]]), "\n")
			constraint, ok := buildConstraint(at, text)
			if !ok {
				continue
			}
			source, err := c.asFile(string(text[at[4]:at[5]]), document, line)
			if err != nil {
				return fmt.Errorf("%s:%d: %w", document, line, err)
			}
			pkg := fmt.Sprintf("%s/%s_%d", dir, strings.TrimSuffix(filepath.Base(document), ".md"), line)
			name := "snippet.go"
			if strings.Contains(source, "*testing.T") {
				name = "snippet_test.go"
			}
			if err := os.Mkdir(pkg, 0o755); err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(pkg, name), []byte(constraint+source), 0o644); err != nil {
				return err
			}
			args = append(args, "./"+filepath.Base(dir)+"/"+filepath.Base(pkg))
		}
	}
	if len(args) == 1 {
		return fmt.Errorf("no Go block in %q", documents)
	}
	vet := exec.Command("go", args...)
	vet.Dir = c.Module
	if out, err := vet.CombinedOutput(); err != nil {
		return fmt.Errorf("go vet: %w\n%s", err, out)
	}
	return nil
}

// asFile makes a whole file of a block, with //line comments so that the compiler reports lines of the document.
func (c Code) asFile(block, document string, line int) (string, error) {
	place := fmt.Sprintf("//line %s:%d\n", document, line)
	if strings.HasPrefix(block, "package ") {
		f, err := parser.ParseFile(token.NewFileSet(), "", block, 0)
		if err != nil {
			return "", err
		}
		return place + block + "\n" + c.takenForGranted(f), nil
	}
	body := block
	f, err := parser.ParseFile(token.NewFileSet(), "", "package snippet\n"+body, 0)
	if err != nil {
		var asBody error
		body = "func _() {\n" + place + block + "\n}"
		if f, asBody = parser.ParseFile(token.NewFileSet(), "", "package snippet\n"+body, 0); asBody != nil {
			return "", cmp.Or(asBody, err)
		}
	}
	if len(f.Imports) > 0 {
		return "package snippet\n" + place + body + "\n" + c.takenForGranted(f), nil
	}
	extra := c.takenForGranted(f)
	all, err := parser.ParseFile(token.NewFileSet(), "", "package snippet\n"+body+"\n"+extra, 0)
	if err != nil {
		return "", err
	}
	var imports strings.Builder
	for name := range free(all) {
		if path, ok := c.Imports[name]; ok {
			fmt.Fprintf(&imports, "import %s %q\n", name, path)
		}
	}
	return "package snippet\n" + imports.String() + place + body + "\n" + extra, nil
}

// takenForGranted returns the declarations that the file uses and does not declare, and those that these use.
func (c Code) takenForGranted(f *ast.File) string {
	var b strings.Builder
	names, declared := free(f), map[string]bool{}
	for len(names) > 0 {
		next := map[string]bool{}
		for name := range names {
			declaration, ok := c.Given[name]
			if !ok || declared[name] {
				continue
			}
			declared[name] = true
			b.WriteString(declaration + "\n")
			if g, err := parser.ParseFile(token.NewFileSet(), "", "package snippet\n"+declaration, 0); err == nil {
				maps.Copy(next, free(g))
			}
		}
		names = next
	}
	return b.String()
}

// free returns the identifiers that the file's code leaves unresolved.
func free(f *ast.File) map[string]bool {
	names := map[string]bool{}
	for _, id := range f.Unresolved {
		names[id.Name] = true
	}
	return names
}

// buildConstraint returns the first line for a block of a newer Go, or false if the running Go is older.
func buildConstraint(at []int, text []byte) (string, bool) {
	if at[2] < 0 {
		return "", true
	}
	version := "go" + string(text[at[2]:at[3]])
	return "//go:build " + version + "\n\n", slices.Contains(build.Default.ReleaseTags, version)
}

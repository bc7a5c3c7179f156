package retrywhen_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// paths is where the packages come from that the documents' code names.
var paths = map[string]string{
	"context": "context", "errors": "errors", "fmt": "fmt", "io": "io", "log": "log", "slog": "log/slog", "net": "net",
	"http": "net/http", "os": "os", "slices": "slices", "strconv": "strconv", "sync": "sync", "testing": "testing",
	"synctest": "testing/synctest", "time": "time", "url": "net/url", "iter": "iter",
	"backoff": module + "/backoff", "jitter": module + "/jitter", "operators": module + "/operators",
	"retry": module + "/retry", "retryhttp": module + "/retryhttp", "rx": module + "/operators/rx",
	"sim": module + "/sim", "stream": module + "/stream", "streamtest": module + "/streamtest",
	"clock": "github.com/benbjohnson/clock", "rxgo": "github.com/reactivex/rxgo/v2",
}

// given is what the documents' code takes for granted.
var given = map[string]string{
	"fetch":       "func fetch() (int, error) { return 1, nil }",
	"store":       "func store(int) error { return nil }",
	"isTransient": "func isTransient(error) bool { return true }",
	"budget":      "var budget = retry.NewBudget(10, 1, 0.1)",
	"online":      "var online = retry.NewSignal()",
	"policy":      "var policy = retry.Default",
	"src":         "var src = stream.Of(1, 2, 3)",
	"ctx":         "var ctx = context.Background()",
}

var goBlock = regexp.MustCompile("(?ms)^```go\n(.*?)^```")

// TestTheDocumentsCodeCompiles takes each Go block of the documents for a package of its own: a file as it is,
// declarations with what they import, or statements in a function.
func TestTheDocumentsCodeCompiles(t *testing.T) {
	dir, err := os.MkdirTemp(".", "_snippets") // no pattern matches it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	documents, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"vet"}
	for _, document := range append(documents, "README.md") {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range goBlock.FindAllSubmatchIndex(text, -1) {
			line := 2 + strings.Count(string(text[:at[0]]), "\n")
			source, err := asFile(string(text[at[2]:at[3]]), document, line)
			if err != nil {
				t.Errorf("%s:%d: %v", document, line, err)
				continue
			}
			pkg := fmt.Sprintf("%s/%s_%d", dir, strings.TrimSuffix(filepath.Base(document), ".md"), line)
			name := "snippet.go"
			if strings.Contains(source, "*testing.T") {
				name = "snippet_test.go"
			}
			if err := os.Mkdir(pkg, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(pkg, name), []byte(source), 0o644); err != nil {
				t.Fatal(err)
			}
			args = append(args, "./"+pkg)
		}
	}
	if len(args) < 4 {
		t.Fatalf("found only %d blocks", len(args)-1)
	}
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Errorf("go vet: %v\n%s", err, out)
	}
}

// asFile makes a whole file of a block, with //line comments so that the compiler speaks of the document.
func asFile(block, document string, line int) (string, error) {
	place := fmt.Sprintf("//line %s:%d\n", document, line)
	if strings.HasPrefix(block, "package ") {
		f, err := parser.ParseFile(token.NewFileSet(), "", block, 0)
		if err != nil {
			return "", err
		}
		return place + block + "\n" + takenForGranted(f), nil
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
		return "package snippet\n" + place + body + "\n" + takenForGranted(f), nil
	}
	extra := takenForGranted(f)
	all, err := parser.ParseFile(token.NewFileSet(), "", "package snippet\n"+body+"\n"+extra, 0)
	if err != nil {
		return "", err
	}
	var imports strings.Builder
	for name := range free(all) {
		if path, ok := paths[name]; ok {
			fmt.Fprintf(&imports, "import %s %q\n", name, path)
		}
	}
	return "package snippet\n" + imports.String() + place + body + "\n" + extra, nil
}

// takenForGranted returns the declarations of what the file uses and does not declare.
func takenForGranted(f *ast.File) string {
	var b strings.Builder
	for name := range free(f) {
		if declaration, ok := given[name]; ok {
			b.WriteString(declaration + "\n")
		}
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

// TestTheSemanticsNameTheirTests holds docs/semantics.md against the tests that it names.
func TestTheSemanticsNameTheirTests(t *testing.T) {
	text, err := os.ReadFile("docs/semantics.md")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("stream/retrywhen_test.go")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, name := range regexp.MustCompile(`TestRule\w+`).FindAllString(string(text), -1) {
		named[name] = true
		if !strings.Contains(string(tests), "func "+name+"(") {
			t.Errorf("docs/semantics.md names %s, which is not there", name)
		}
	}
	for _, match := range regexp.MustCompile(`func (TestRule\w+)\(`).FindAllStringSubmatch(string(tests), -1) {
		if !named[match[1]] {
			t.Errorf("docs/semantics.md does not name %s", match[1])
		}
	}
}

package project_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/internal/doccode"
)

// withCode are the documents with Go blocks. Tests run those of README.md in the top folder, those of migrating.md in
// benchmarks/migrating and the others in docs, and compile those of durable.md. The blocks of operators.md are signatures,
// made from the code.
var withCode = []string{"README.md", "docs/durable.md", "docs/migrating.md", "docs/operators.md", "docs/recipes.md", "docs/testing.md",
	"docs/tutorial.md"}

// TestTheDocumentsCodeIsTested looks for code in other documents. AGENTS.md quotes these.
func TestTheDocumentsCodeIsTested(t *testing.T) {
	inTop(t)
	documents, err := filepath.Glob("docs/*.md")
	if err != nil || len(documents) < 10 {
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

// The module benchmarks is tested at night, so the blocks of migrating.md are compiled here too.
func TestTheCodeOfMigratingCompiles(t *testing.T) {
	inTop(t)
	if err := (doccode.Code{}).Vet("docs/migrating.md"); err != nil {
		t.Error(err)
	}
}

// The code of durable.md needs the modules that it is about.
func TestTheCodeOfDurableCompiles(t *testing.T) {
	inTop(t)
	code := doccode.Code{
		Module: "durable/embedded",
		Imports: map[string]string{
			"context": "context", "errors": "errors", "log": "log", "time": "time", "os": "os", "signal": "os/signal", "syscall": "syscall", "nats": "github.com/nats-io/nats.go",
			"backoff": module + "/backoff", "jitter": module + "/jitter", "operators": module + "/operators", "retry": module + "/retry",
			"stream": module + "/stream", "durable": module + "/durable", "embedded": module + "/durable/embedded",
		},
		Given: map[string]string{
			"err":         "var err error",
			"ctx":         "var ctx = context.Background()",
			"policy":      "var policy = retry.Default",
			"letter":      "var letter []byte",
			"password":    "var password string",
			"nc":          "var nc *nats.Conn",
			"traceparent": "var traceparent string",
			"handler":     "func handler(context.Context, *durable.Job) error { return nil }",
			"folder":      "var folder string",
			"Row":         "type Row struct{ ID int64 }",
			"rowsAfter":   "func rowsAfter(int64) stream.Stream[Row] { return stream.Empty[Row]() }",
			"copyRow":     "func copyRow(context.Context, Row) error { return nil }",
			"night":       "func night(time.Time) bool { return false }",
			"q":           "var q *durable.Queue",
			"send":        "func send(context.Context, string, []byte) error { return nil }",
		},
	}
	if err := code.Vet("docs/durable.md"); err != nil {
		t.Error(err)
	}
}

// TestTheSemanticsNameTheirTests checks that the tests that docs/semantics.md names exist.
func TestTheSemanticsNameTheirTests(t *testing.T) {
	inTop(t)
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
			t.Errorf("docs/semantics.md names %s, which does not exist", name)
		}
	}
	for _, match := range regexp.MustCompile(`func (TestRule\w+)\(`).FindAllStringSubmatch(string(tests), -1) {
		if !named[match[1]] {
			t.Errorf("docs/semantics.md does not name %s", match[1])
		}
	}
}

package project_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
)

// withCode are the documents with Go blocks. Tests run those of durable.md in durable/embedded, and the others in internal/docs.
var withCode = []string{"README.md", "docs/choosing.md", "docs/durable.md", "docs/recipes.md", "docs/shared.md", "docs/testing.md", "docs/tutorial.md"}

// TestTheDocumentsCodeIsTested looks for code in other documents. AGENTS.md quotes these.
func TestTheDocumentsCodeIsTested(t *testing.T) {
	inTop(t)
	documents, err := filepath.Glob("docs/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatal(documents, err)
	}
	for _, name := range append(documents, "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md") {
		text, err := os.ReadFile(name)
		check.Must(t, err)
		if strings.Contains(string(text), "\n```go") && !slices.Contains(withCode, name) {
			t.Errorf("%s has a Go block, which no test runs", name)
		}
	}
}

func TestDurableHasTheTestsCode(t *testing.T) {
	inTop(t)
	check.Document(t, "docs/durable.md", "durable/embedded/document_test.go")
}

// TestTheRulesHaveTests checks that the rules of docs/semantics.md are those that the tests are named after.
func TestTheRulesHaveTests(t *testing.T) {
	inTop(t)
	numbers := func(file, pattern string) (found []string) {
		text, err := os.ReadFile(file)
		check.Must(t, err)
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
		slices.Sort(found)
		return slices.Compact(found)
	}
	rules := numbers("docs/semantics.md", `(?m)^### (\d+)\. `)
	if tests := numbers("stream/retrywhen_test.go", `func TestRule(\d+)_`); len(rules) < 13 || !slices.Equal(rules, tests) {
		t.Errorf("docs/semantics.md has the rules %v, and stream/retrywhen_test.go tests of %v", rules, tests)
	}
}

var (
	namedFile = regexp.MustCompile("`([\\w-]+(?:/[\\w-]+)*/[\\w-]+\\.go)`")
	namedCode = regexp.MustCompile("`(\\w+)`")
)

// TestTheDocumentsNameWhatExists checks a line of a document that names one Go file: the file exists, and so does each
// identifier that stands in backticks on that line, in that file.
func TestTheDocumentsNameWhatExists(t *testing.T) {
	inTop(t)
	documents, err := filepath.Glob("docs/*.md")
	check.Must(t, err)
	named := 0
	for _, document := range append(documents, "README.md", "CONTRIBUTING.md") {
		text, err := os.ReadFile(document)
		check.Must(t, err)
		for _, part := range strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' || r == ';' }) {
			files := namedFile.FindAllStringSubmatch(part, -1)
			for _, file := range files {
				named++
				code, err := os.ReadFile(file[1])
				if err != nil {
					t.Errorf("%s names %s, which does not exist", document, file[1])
					continue
				}
				for _, name := range namedCode.FindAllStringSubmatch(part, -1) {
					if _, err := os.Stat(name[1]); err != nil && len(files) == 1 && !strings.Contains(string(code), name[1]) {
						t.Errorf("%s says that %s is in %s", document, name[1], file[1])
					}
				}
			}
		}
	}
	if named == 0 {
		t.Error("no document names a file: the pattern is wrong")
	}
}

var update = flag.Bool("update", false, "write AGENTS.md and llms.txt anew")

// signatures are what a feed and its test call, by their package.
var signatures = [][2]string{
	{"stream", "type Stream[T any] "}, {"stream", "func (s Stream[T]) TryForEach("}, {"stream", "func (s Stream[T]) RetryWhen("},
	{"retry", "func New("}, {"retry", "func Run("}, {"operators", "func Resume["}, {"reconnecttest", "func CheckResume["},
}

// declared returns the line of a package's code that begins so.
func declared(t *testing.T, pkg, begin string) string {
	t.Helper()
	files, err := filepath.Glob(pkg + "/*.go")
	check.Must(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		check.Must(t, err)
		if _, after, ok := strings.Cut(string(text), "\n"+begin); ok {
			line, _, _ := strings.Cut(after, "\n")
			return begin + strings.TrimSuffix(line, " {")
		}
	}
	t.Fatalf("package %s has no line that begins with %q", pkg, begin)
	return ""
}

// agents returns AGENTS.md.
func agents(t *testing.T) string {
	t.Helper()
	readme, err := os.ReadFile("README.md")
	check.Must(t, err)
	var s strings.Builder
	s.WriteString("# For programs that write code with retrywhen\n\n" +
		"Made by `go test ./internal/project -run TestAgents -update`.\n\n" +
		"`go get github.com/retrywhen/retrywhen@main`, Go 1.26 or newer. Import `github.com/retrywhen/retrywhen/retry`, `…/stream`,\n" +
		"`…/operators`, `…/backoff`, `…/jitter`; in tests `…/reconnecttest` and `…/streamtest`. A Stream is a function. It calls yield for\n" +
		"each value on the caller's goroutine, stops when yield returns false, and returns nil at its end, else the error:\n\n```\n")
	for _, signature := range signatures {
		fmt.Fprintf(&s, "%s: %s\n", signature[0], declared(t, signature[0], signature[1]))
	}
	s.WriteString("```\n\n" +
		"- [README.md](README.md#keep-a-feed-alive): a whole feed, with its connection, policy, handler and test. Begin with it.\n" +
		"- [docs/README.md](docs/README.md): which of Do, Attempts, RetryWhen, Resume, ResumeMarked, Poll, FromCallbacks, MapRetry to use\n" +
		"- [docs/recipes.md](docs/recipes.md#the-rules-of-the-position): the rules of the position, polling, handlers that fail, silence\n" +
		"- [examples/recipes](docs/recipes.md#recipes): feeds of Postgres, Kafka, NATS, Redis, etcd, MQTT, gRPC, WebSocket and others\n" +
		"- [docs/testing.md](docs/testing.md): tests on virtual time, and tests that break connections\n" +
		"- [docs/prove.md](docs/prove.md): the same for a program in any language\n" +
		"- [docs/measure.md](docs/measure.md): what the calls of a client do when its server fails\n" +
		"- [docs/shared.md](docs/shared.md): a token, a session, a connection that many callers share\n" +
		"- [docs/policies.md](docs/policies.md): policies as text; [docs/choosing.md](docs/choosing.md): which one, and why a budget\n" +
		"- [docs/why-not-retried.md](docs/why-not-retried.md): what each error of retry means, and what to change\n" +
		"- [docs/semantics.md](docs/semantics.md): what RetryWhen does in each case, which hook is called when\n" +
		"- [docs/operators.md](docs/operators.md): all operators, also by their names in ReactiveX\n" +
		"- [docs/migrating.md](docs/migrating.md): the same code with another library, before and after\n" +
		"- [docs/durable.md](docs/durable.md): jobs that survive the process\n" +
		"- [retryhttp](retryhttp/doc.go), [retrygrpc](retrygrpc/doc.go), [retryotel](retryotel/doc.go): clients, metrics and traces\n")
	s.WriteString("\n## Three calls\n\nA call, an HTTP client, a shared token:\n\n```go\n" + snippet(t, string(readme), "Retry a call", "var policy") + "\n" +
		snippet(t, string(readme), "Retry HTTP requests", "") + "\n" + snippet(t, string(readme), "Share a token", "") + "```\n")
	s.WriteString("\n## Eleven mistakes\n\n")
	for i, mistake := range mistakes {
		fmt.Fprintf(&s, "%d. [%s](docs/recipes.md#%s): %s.\n", i+1, mistake[0], mistake[1], mistake[2])
	}
	return s.String()
}

// snippet returns the first Go block of a part of a document that begins so.
func snippet(t *testing.T, text, part, begin string) string {
	t.Helper()
	_, text, _ = strings.Cut(text, "\n## "+part+"\n")
	_, text, ok := strings.Cut(text, "```go\n"+begin)
	code, _, end := strings.Cut(text, "```\n")
	if !ok || !end {
		t.Fatalf("README.md has no Go block %q under %q", begin, part)
	}
	return begin + code
}

// mistakes are what programs get wrong, the part of docs/recipes.md that says what is right, and what happens.
var mistakes = [][3]string{
	{"A position outside of the stream", "the-usual-loop", "it moves before the event is handled, and the event is lost"},
	{"A position that several values share", "the-rules-of-the-position", "a break between them loses or repeats values"},
	{"No Timeout inside `open`", "silence", "the feed waits forever on a dead connection"},
	{"No MustNotEnd inside `open`", "silence", "a polite close ends the feed"},
	{"No jitter, or no cap", "the-usual-loop", "all clients return at once; a wait grows to hours"},
	{"A Limit without ResetAfterItems or ResetAfter", "silence", "the feed gives up after some weeks"},
	{"A handler's error that reconnects the feed", "my-handler-can-fail", "retry the handler where it is called"},
	{"A retry around Resume", "the-rules-of-the-position", "it starts over at `start`; the policy belongs into Resume"},
	{"MapRetry over a broker's deliveries without their context", "items-that-belong-to-a-connection", "what the broker delivers again is done twice"},
	{"Retries in layers", "retries-in-layers", "three layers of four attempts send 64 requests"},
	{"Credentials that are read outside of `open`", "the-rules-of-the-position", "they expire while the feed lives"},
}

// llms is llms.txt: the index of documents is docs/README.md.
const llms = "# retrywhen: retry with backoff and jitter for Go: calls, HTTP, streams that continue where they stopped\n" +
	"- [AGENTS.md](AGENTS.md): how to write it, the rules, the mistakes, the test\n" +
	"- [docs/README.md](docs/README.md): what to use for what, and all documents\n"

var link = regexp.MustCompile(`\]\(([^)#:, ]+)(#[^)]*)?\)`)

// prose returns the parts of a text, of which every second one is code.
func prose(text string) []string { return strings.Split(text, "```") }

func TestAgents(t *testing.T) {
	inTop(t)
	for name, want := range map[string]string{"AGENTS.md": agents(t), "llms.txt": llms} {
		if n := strings.Count(want, "\n"); n > 150 {
			t.Errorf("%s has %d lines, want at most 150", name, n)
		}
		for i, part := range prose(want) {
			for _, m := range link.FindAllStringSubmatch(part, -1) {
				if _, err := os.Stat(m[1]); err != nil && i%2 == 0 {
					t.Errorf("%s links to %s: %v", name, m[1], err)
				}
			}
		}
		if *update {
			check.Must(t, os.WriteFile(name, []byte(want), 0o644)) //nolint:gosec // a document
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is not what the documents say (%v): go test ./internal/project -run TestAgents -update", name, err)
		}
	}
}

package project_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write AGENTS.md, llms.txt and the table of sizes anew")

// quoted are the sections of documents of which AGENTS.md consists.
var quoted = []struct{ document, heading, until string }{
	{"README.md", "## A feed", "From Go 1.27 on"},
	{"docs/recipes.md", "## The rules of the position", ""},
	{"docs/recipes.md", "## Ten mistakes", ""},
	{"docs/testing.md", "## Does it come back?", "Each kind of fault"},
}

// section returns the text below a heading, up to the next one of its level, or up to another text.
func section(t *testing.T, document, heading, until string) string {
	t.Helper()
	text, err := os.ReadFile(document)
	if err != nil {
		t.Fatal(err)
	}
	_, below, ok := strings.Cut(string(text), "\n"+heading+"\n")
	if !ok {
		t.Fatalf("%s has no %q", document, heading)
	}
	own, _, _ := strings.Cut(below, "\n## ")
	if until != "" {
		own, _, ok = strings.Cut(own, "\n"+until)
		if !ok {
			t.Fatalf("%s has no %q below %q", document, until, heading)
		}
	}
	return strings.TrimSpace(own) + "\n"
}

// agents returns AGENTS.md.
func agents(t *testing.T) string {
	t.Helper()
	var s strings.Builder
	s.WriteString("# For programs that write code with retrywhen\n\n" +
		"Made from the documents: `go test ./internal/project -run TestAgents -update`.\n\n" +
		"Five values and functions: a Jitter is a draw in, a factor out. A Backoff is the number of failures in, the delay out. A Policy is\n" +
		"a Backoff and when to give up, when to restart the count, and what to call then. A Stream is a cold source: run it, get values, then\n" +
		"nil or an error. An operator is a function from streams to streams; Resume is the one for sources with a position.\n")
	for _, q := range quoted {
		fmt.Fprintf(&s, "\n%s\n\n%s", q.heading, absolute(section(t, q.document, q.heading, q.until), q.document))
	}
	return s.String()
}

// index returns llms.txt: the documents, one line each.
func index(t *testing.T) string {
	t.Helper()
	var s strings.Builder
	s.WriteString("# retrywhen\n\n> Retry with backoff and jitter for Go: a call that fails is tried again, a stream that fails continues where it stopped.\n\n" +
		"- [AGENTS.md](AGENTS.md): how to write a feed that reconnects, the rules, the mistakes, the test\n" +
		"- [docs/README.md](docs/README.md): which of Do, Attempts, RetryWhen, Resume, Poll, FromCallbacks, MapRetry, retryhttp, durable\n")
	text, err := os.ReadFile("docs/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, read, ok := strings.Cut(string(text), "| if you want to | read |\n|---|---|\n")
	if !ok {
		t.Fatal("docs/README.md has no table of what to read")
	}
	for _, row := range regexp.MustCompile(`(?m)^\| (.+?) \| (.+) \|$`).FindAllStringSubmatch(read, -1) {
		fmt.Fprintf(&s, "- %s: %s\n", absolute(row[2], "docs/README.md"), row[1])
	}
	return s.String()
}

var link = regexp.MustCompile(`\]\(([^)#:, ]+)(#[^)]*)?\)`)

// prose returns the parts of a text, of which every second one is code.
func prose(text string) []string { return strings.Split(text, "```") }

// absolute makes links from a document in docs links from the top folder.
func absolute(text, document string) string {
	if !strings.HasPrefix(document, "docs/") {
		return text
	}
	parts := prose(text)
	for i := 0; i < len(parts); i += 2 {
		parts[i] = link.ReplaceAllStringFunc(parts[i], func(l string) string {
			m := link.FindStringSubmatch(l)
			if up, ok := strings.CutPrefix(m[1], "../"); ok {
				return "](" + up + m[2] + ")"
			}
			return "](docs/" + m[1] + m[2] + ")"
		})
	}
	return strings.Join(parts, "```")
}

func TestAgents(t *testing.T) {
	inTop(t)
	for name, want := range map[string]string{"AGENTS.md": agents(t), "llms.txt": index(t)} {
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
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil { //nolint:gosec // a document
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is not what the documents say (%v): go test ./internal/project -run TestAgents -update", name, err)
		}
	}
}

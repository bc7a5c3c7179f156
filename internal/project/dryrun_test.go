package project_test

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	commandSpan  = regexp.MustCompile("`((?:[A-Z_]+=\\S+ )*(?:go|make|nats|retrywhen) [^`]+)`")
	commandBlock = regexp.MustCompile("(?ms)^```(?:sh|text)?\n(.*?)^```")
	commandLine  = regexp.MustCompile(`(?m)^((?:[A-Z_]+=\S+ )*(?:go|make|nats|retrywhen) .+)$`)
	commandWord  = regexp.MustCompile(`'[^']*'|"[^"]*"|\S+`)
)

// inFolder are the folders in which the commands of a document run. What cannot run there runs in the top folder.
var inFolder = map[string]string{
	"benchmarks/CORRECTNESS.md":         "benchmarks",
	"benchmarks/RESULTS.md":             "benchmarks",
	"benchmarks/measured/MEASURED.md":   "benchmarks",
	"benchmarks/reconnect/RECONNECT.md": "benchmarks/reconnect",
	"benchmarks/retrygrpc/README.md":    "benchmarks",
	"benchmarks/retryhttp/README.md":    "benchmarks",
	"docs/comparison.md":                "benchmarks",
	"docs/durable.md":                   "durable/embedded",
	"docs/testing.md":                   "internal/docs",
}

// notRun are beginnings of commands that are not run, and why.
var notRun = map[string]string{
	"go get ":                "it needs the network",
	"go install github.com/": "it needs the network, and a release",
	"go mod init ":           "it needs the network",
	"nats ":                  "it needs a server",
}

// documentCommands returns the commands of all documents, each after its folder and a newline.
func documentCommands(t *testing.T) []string {
	t.Helper()
	var commands []string
	for _, pattern := range []string{"*.md", "docs/*.md", "examples/*.md", "benchmarks/*.md", "benchmarks/*/*.md"} {
		documents, err := filepath.Glob(pattern)
		if err != nil || len(documents) == 0 {
			t.Fatal(pattern, documents, err)
		}
		for _, document := range documents {
			text, err := os.ReadFile(document)
			if err != nil {
				t.Fatal(err)
			}
			found := commandSpan.FindAllStringSubmatch(string(text), -1)
			for _, block := range commandBlock.FindAllStringSubmatch(string(text), -1) {
				found = append(found, commandLine.FindAllStringSubmatch(block[1], -1)...)
			}
			for _, m := range found {
				commands = append(commands, inFolder[filepath.ToSlash(document)]+"\n"+m[1])
			}
		}
	}
	slices.Sort(commands)
	commands = slices.Compact(commands)
	if len(commands) < 60 {
		t.Fatalf("%d commands, want at least 60", len(commands))
	}
	return commands
}

// TestTheDocumentsCommandsRun runs each command of a document once, without its effect: go and make with -n, retrywhen
// with --help, but show as it is.
func TestTheDocumentsCommandsRun(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" {
		t.Skip("the go command loads the packages of each: RETRYWHEN_NIGHTLY=1")
	}
	inTop(t)
	retrywhen := filepath.Join(t.TempDir(), "retrywhen.exe")
	command(t, nil, "go", "build", "-o", retrywhen, "./cmd/retrywhen")
	for _, c := range documentCommands(t) {
		folder, text, _ := strings.Cut(c, "\n")
		if slices.ContainsFunc(slices.Collect(maps.Keys(notRun)), func(begin string) bool { return strings.HasPrefix(text, begin) }) {
			continue
		}
		words := commandWord.FindAllString(text, -1)
		for i, w := range words {
			if strings.ContainsAny(w[:1], `'"`) {
				words[i] = w[1 : len(w)-1]
			}
		}
		environment := os.Environ()
		for strings.Contains(words[0], "=") {
			environment, words = append(environment, words[0]), words[1:]
		}
		switch {
		case words[0] == "go":
			words = slices.Insert(words, 2, "-n")
		case words[0] == "make":
			words = slices.Insert(words, 1, "-n")
		case words[1] == "show":
			words[0] = retrywhen
		default:
			words = slices.Insert(words, slices.Index(append(words, "--"), "--"), "--help")
			words[0] = retrywhen
		}
		dry := func(folder string) ([]byte, error) {
			run := exec.Command(words[0], words[1:]...)
			run.Dir, run.Env = folder, environment
			return run.CombinedOutput()
		}
		out, err := dry(folder)
		if err != nil && folder != "" {
			out, err = dry("")
		}
		if err != nil {
			t.Errorf("%s: %v\n%.1000s", text, err, out)
		}
	}
}

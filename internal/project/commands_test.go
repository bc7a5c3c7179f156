package project_test

import (
	"bytes"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/internal/check"
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
			check.Must(t, err)
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

var installLine = regexp.MustCompile(`go (?:get|install|run) (?:-[a-z]+ )*github\.com/retrywhen/retrywhen[^\s` + "`" + `<]*`)

// later are the words of a line, or of the one before it, that says when it works.
var later = []string{"in a clone", "from the first release on"}

// Until the first release a line that installs something fetches the branch. TestInstallLines runs each, as a stranger
// does who has nothing but a module proxy, here one made of the last commit. A line that cannot work yet must say so.
func TestInstallLines(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" {
		t.Skip("it builds each module from an empty proxy: RETRYWHEN_NIGHTLY=1")
	}
	inTop(t)
	lines := map[string]string{} // with the file
	for file := range strings.FieldsSeq(command(t, nil, "git", "ls-files", "*.md", "*.go", "*.html", "*.txt", "*.js")) {
		if strings.HasSuffix(file, "internal/project/install_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			continue // deleted
		}
		before := ""
		for line := range strings.Lines(string(text)) {
			for _, found := range installLine.FindAllString(line, -1) {
				both := strings.ToLower(before + line)
				if !slices.ContainsFunc(later, func(words string) bool { return strings.Contains(both, words) }) {
					lines[found] = file
				}
			}
			before = line
		}
	}
	if len(lines) == 0 {
		t.Fatal("found no line that installs something")
	}
	temp := t.TempDir()
	clone := filepath.Join(temp, "clone")
	command(t, nil, "git", "clone", "--quiet", "file://"+top(t), clone)
	command(t, nil, "git", "-C", clone, "checkout", "--quiet", "-B", "main")
	third := strings.TrimSpace(command(t, nil, "go", "env", "GOMODCACHE"))
	env := append(os.Environ(), "GOENV=off", "GOWORK=off", "GOFLAGS=-modcacherw -buildvcs=false", "GOPRIVATE=", "GONOPROXY=", "GONOSUMDB="+module, "GOPROXY=direct",
		"GOMODCACHE="+filepath.Join(temp, "published"), "GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=url.file://"+clone+".insteadOf", "GIT_CONFIG_VALUE_0=https://"+module)
	command(t, env, "go", "mod", "download", module+"@main")
	versions := filepath.Join(temp, "published", "cache", "download", filepath.FromSlash(module), "@v")
	infos, err := filepath.Glob(filepath.Join(versions, "v*.info"))
	if err != nil || len(infos) != 1 {
		t.Fatalf("%v, %v", infos, err)
	}
	info, err := os.ReadFile(infos[0])
	if err == nil {
		err = os.WriteFile(filepath.Join(versions, "main.info"), info, 0o600)
	}
	check.Must(t, err)
	env = append(env, "GOPROXY=file://"+filepath.Join(temp, "published", "cache", "download")+",file://"+filepath.Join(third, "cache", "download")+",off",
		"GOMODCACHE="+filepath.Join(temp, "stranger"), "GOBIN="+filepath.Join(temp, "bin"), "GIT_CONFIG_COUNT=0", "GONOSUMCHECK=1", "GOSUMDB=off")
	for line, file := range lines {
		user := t.TempDir()
		inFolder := func(args ...string) ([]byte, error) {
			c := exec.Command(args[0], args[1:]...)
			c.Dir, c.Env = user, env
			return c.CombinedOutput()
		}
		if out, err := inFolder("go", "mod", "init", "example.org/user"); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		if out, err := inFolder(strings.Fields(line)...); err != nil {
			t.Errorf("%s: %s: %v: it must work, or say %q\n%s", file, line, err, later, out)
		}
	}
}

// command returns the output of a command that must succeed.
func command(t *testing.T, env []string, args ...string) string {
	t.Helper()
	c := exec.Command(args[0], args[1:]...)
	var failed bytes.Buffer
	c.Env, c.Stderr = env, &failed
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%q: %v\n%s", args, err, failed.Bytes())
	}
	return string(out)
}

// top returns the folder of the repository.
func top(t *testing.T) string {
	t.Helper()
	return strings.TrimSpace(command(t, nil, "git", "rev-parse", "--show-toplevel"))
}

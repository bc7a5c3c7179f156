package project_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

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
	if err != nil {
		t.Fatal(err)
	}
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

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/prove"
)

// measuredRow is a client in docs/measure.md: its version, policy, findings and command.
var measuredRow = regexp.MustCompile("(?m)^\\| .* \\| (.*) \\| (?:`(.*)`|–) \\| (.*) \\| `retrywhen measure (.*)` \\|$")

// The clients of docs/measure.md do what it says. Programs for node are installed from npm.
func TestMeasureDocument(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" {
		t.Skip("it needs clients of Debian and npm, and a quiet machine; RETRYWHEN_NIGHTLY enables it")
	}
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	text, err := os.ReadFile("../../docs/measure.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := measuredRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 10 {
		t.Fatalf("%d rows", len(rows))
	}
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/measure")); err != nil {
		t.Fatal(err)
	}
	in := func(program string, args ...string) {
		t.Helper()
		c := exec.Command(program, args...)
		c.Dir = folder
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s %q: %v\n%s", program, args, err, out)
		}
	}
	in("javac", "Loop.java")
	install := []string{"install", "--silent"}
	for _, row := range rows {
		if strings.Contains(row[4], "node ") {
			for _, module := range strings.Split(row[1], ", ") {
				install = append(install, strings.ReplaceAll(module, " ", "@"))
			}
		}
	}
	in("npm", install...)
	for _, row := range rows {
		var args []string
		for _, a := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(row[4], -1) {
			if a = strings.Trim(a, "'"); strings.HasSuffix(a, ".py") || strings.HasSuffix(a, ".mjs") {
				a = filepath.Join(folder, a)
			}
			args = append(args, strings.ReplaceAll(strings.Replace(a, "python3", "/usr/bin/python3", 1), "CLASSES", folder))
		}
		out, _, err := inProcess(t, append([]string{"measure", "--json"}, args...)...)
		var m prove.Measured
		if failed := json.Unmarshal([]byte(out), &m); failed != nil {
			t.Errorf("%s: %v, %v", row[4], err, failed)
			continue
		}
		var kinds []string
		for _, f := range m.Findings {
			if f.Kind != prove.Jitter { // a busy machine hides that
				kinds = append(kinds, string(f.Kind))
			}
		}
		slices.Sort(kinds)
		want := slices.DeleteFunc(strings.Split(strings.Trim(row[3], "–"), ", "), func(k string) bool { return k == "" || k == string(prove.Jitter) })
		curve, _, _ := strings.Cut(row[2], " jitter=")
		if !slices.Equal(kinds, want) || !slices.ContainsFunc(append(m.Or, m.Policy), func(p string) bool { return strings.HasPrefix(p, curve) }) {
			t.Errorf("%s: got %q (or %q: %s), %q; want %q, %q", row[4], m.Policy, m.Or, m.Why, kinds, row[2], want)
		}
	}
}

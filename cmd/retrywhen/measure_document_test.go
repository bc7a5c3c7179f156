package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/prove"
)

// measuredRow is a client in benchmarks/measured/MEASURED.md: its name, version, policy, findings and command.
var measuredRow = regexp.MustCompile("(?m)^\\| (.*) \\| (.*) \\| (?:`(.*)`|–) \\| (.*) \\| `retrywhen measure (.*)` \\|$")

// The clients of benchmarks/measured/MEASURED.md do what it says. Programs for node are installed from npm.
func TestMeasureDocument(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" {
		t.Skip("it needs clients of Debian and npm, and a quiet machine; RETRYWHEN_NIGHTLY enables it")
	}
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	text, err := os.ReadFile("../../benchmarks/measured/MEASURED.md")
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
		if strings.Contains(row[5], "node ") {
			for module := range strings.SplitSeq(row[2], ", ") {
				install = append(install, strings.ReplaceAll(module, " ", "@"))
			}
		}
	}
	in("npm", install...)
	for _, row := range rows {
		client, version, policy, kinds, command := row[1], row[2], row[3], row[4], row[5]
		t.Run(client, func(t *testing.T) {
			var args []string
			for _, a := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(command, -1) {
				if a = strings.Trim(a, "'"); strings.HasSuffix(a, ".py") || strings.HasSuffix(a, ".mjs") {
					a = filepath.Join(folder, a)
				}
				args = append(args, strings.ReplaceAll(strings.Replace(a, "python3", "/usr/bin/python3", 1), "CLASSES", folder))
			}
			out, _, err := inProcess(t, append([]string{"measure", "--json"}, args...)...)
			if errors.Is(err, prove.ErrBusy) {
				t.Skip(err)
			}
			var m prove.Measured
			if failed := json.Unmarshal([]byte(out), &m); failed != nil {
				t.Fatalf("%v, %v", err, failed)
			}
			var found []string
			for _, f := range m.Findings {
				if f.Kind != prove.Jitter { // a busy machine hides that
					found = append(found, string(f.Kind))
				}
			}
			slices.Sort(found)
			want := slices.DeleteFunc(strings.Split(strings.Trim(kinds, "–"), ", "), func(k string) bool { return k == "" || k == string(prove.Jitter) })
			if !slices.Equal(found, want) {
				t.Errorf("%s found %q, want %q", version, found, want)
			}
			if !slices.ContainsFunc(append(m.Or, m.Policy), func(p string) bool { return stable(p) == stable(policy) }) {
				t.Errorf("%s has %q (or %q: %s), want %q; %+v", version, m.Policy, m.Or, m.Why, policy, m.Rows)
			}
		})
	}
}

// stable returns of a policy its curve and its limit: a busy machine changes the rest.
func stable(policy string) string {
	return strings.Join(slices.DeleteFunc(strings.Fields(policy), func(word string) bool {
		key, _, parameter := strings.Cut(word, "=")
		return parameter && slices.Contains([]string{"jitter", "cap", "attempttimeout"}, key)
	}), " ")
}

package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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
			found := []string{}
			for _, f := range m.Findings {
				found = append(found, string(f.Kind))
			}
			slices.Sort(found)
			if got := cmp.Or(strings.Join(found, ", "), "–"); got != kinds {
				t.Errorf("%s found %s, want %s: %v", version, got, kinds, m.Findings)
			}
			if !slices.ContainsFunc(append(m.Or, m.Policy), func(p string) bool { return alike(p, policy) }) {
				t.Errorf("%s has %q (or %q: %s), want %q; %+v", version, m.Policy, m.Or, m.Why, policy, m.Rows)
			}
		})
	}
}

// alike reports whether two policies have the same curve, limit and timeout, and bases that differ by less than a third.
// A few random waits show the base not exactly, and a small jitter not at all.
func alike(one, other string) bool {
	parts := func(policy string) (rest string, base time.Duration) {
		for word := range strings.FieldsSeq(policy) {
			switch key, value, _ := strings.Cut(word, "="); key {
			case "base", "d":
				base, _ = time.ParseDuration(value)
			case "jitter":
			default:
				rest += word + " "
			}
		}
		return rest, base
	}
	a, base := parts(one)
	b, otherBase := parts(other)
	return a == b && 3*(base-otherBase).Abs() <= max(base, otherBase)
}

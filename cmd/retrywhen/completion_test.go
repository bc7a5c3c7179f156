package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/retry"
)

func TestCompletion(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if out, _, err := inProcess(t, "completion", shell); err != nil || !strings.Contains(out, "retrywhen") {
			t.Errorf("completion %s: %v, %d bytes", shell, err, len(out))
		}
	}
	for shell, want := range map[string]string{"bash": `${words[*]:1}${cur:0:1}`, "zsh": `|| eval "${requestComp}\""`} {
		if out, _, err := inProcess(t, "completion", shell); err != nil || !strings.Contains(out, want) {
			t.Errorf("completion %s does not close quotes: %v", shell, err)
		}
	}
}

func TestCompletionOfPolicies(t *testing.T) {
	for begun, want := range map[string]string{
		"lin":                            "linear d=1s tiled",
		`"lin`:                           "linear d=1s tiled",
		"mine: lin":                      "mine: linear d=1s tiled",
		"linear d=2s jitter=f":           "linear d=2s jitter=full",
		"mine: linear d=2s ti":           "mine: linear d=2s tiled",
		"linear d=2s limit=3 place=by-o": "linear d=2s limit=3 place=by-ordinal",
		"linear d=2s resetafterit":       "linear d=2s resetafteritems=1",
		"aw":                             "aws|aws-2026",
		"linear d=2s tiled ti":           "",
		"nothing":                        "",
	} {
		if got := strings.Join(policies(begun, placeWords...), "|"); got != want {
			t.Errorf("%s: %s, want %s", begun, got, want)
		}
	}
	if got := policies("linear d=2s jitter="); len(got) != 6 {
		t.Errorf("jitter= may become %q, want six", got)
	}
}

// Completion offers every word of a policy, and of its own words those that the command takes.
func TestCompletionHasAllWords(t *testing.T) {
	for _, w := range retry.Words() {
		if got := policies("constant d=1s " + w.Name); !slices.Contains(got, "constant d=1s "+w.String()) {
			t.Errorf("%s may become %q, want %s", w.Name, got, w)
		}
	}
	for command, want := range map[string]string{"show": "", "sim overload": "processes=20", "sim herd": "place=by-ordinal processes=20", "sim choose": "place=by-ordinal"} {
		out, _, err := inProcess(t, append(append([]string{"__complete"}, strings.Fields(command)...), "linear d=1s p")...)
		got := strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(strings.SplitN(out, ":", 2)[0]), "\n"), "linear d=1s ", "")
		if got = strings.Join(strings.Fields(strings.Replace(got, "plus=1s", "", 1)), " "); err != nil || got != want {
			t.Errorf("%s completes p to %q, %v, want %q", command, got, err, want)
		}
	}
}

func TestCompletionOfCommands(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("its executable files have endings")
	}
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"backup": 0o700, "back": 0o700, "backlog": 0o600, "other": 0o700} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"), mode))
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+filepath.Join(dir, "none"))
	for _, args := range [][]string{{"run", "--", "back"}, {"run", "back"}, {"run", "--limit", "none", "--", "back"}} {
		out, _, err := inProcess(t, append([]string{"__complete"}, args...)...)
		if err != nil || !strings.HasPrefix(out, "back\nbackup\n:4\n") {
			t.Errorf("%v: %v, %q", args, err, out)
		}
	}
	if out, _, err := inProcess(t, "__complete", "run", "--", "backup", "fi"); err != nil || !strings.HasPrefix(out, ":0\n") {
		t.Errorf("a file: %v, %q", err, out)
	}
	if out, _, err := inProcess(t, "__complete", "run", "--until", ""); err != nil || !strings.HasPrefix(out, "success\nfailure\n:4\n") {
		t.Errorf("until: %v, %q", err, out)
	}
}

// Bash runs the text typed so far, which has an open quote.
func TestCompletionInQuotesOfBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash")
	}
	script, _, err := inProcess(t, "completion", "bash")
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	for begun, want := range map[string][]string{
		`"linear d=2s jitter=f`: {"linear d=2s jitter=full"},
		`'sid`:                  {"sidekiq"},
		`"linear d=2s st`:       {"linear d=2s stopat=10s"},
	} {
		c := exec.CommandContext(t.Context(), bash, "-c", script+`
_init_completion() { words=("$SELF" show "$BEGUN"); cword=2; cur=$BEGUN; }
compopt() { :; }
__start_retrywhen
printf '%s\n' "${COMPREPLY[@]}"`)
		c.Env = append(os.Environ(), "RETRYWHEN_TEST_MAIN=1", "SELF="+self, "BEGUN="+begun)
		out, err := c.Output()
		got := strings.Split(strings.TrimSpace(string(out)), "\n")
		got = slices.DeleteFunc(got, func(l string) bool { return l == "computing" })
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %q, want %q", begun, err, got, want)
		}
	}
}

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestShow(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	out, _, err := inProcess(t, "show", "exponential base=1s factor=2 cap=30s jitter=equal limit=4")
	want := []string{
		"exponential base=1s factor=2 cap=30s jitter=equal limit=4",
		" n   least  median    most  cumulative",
		" 1   500ms   750ms      1s       750ms",
		" 2      1s    1.5s      2s       2.25s",
		" 3      2s      3s      4s       5.25s",
		" 4      4s      6s      8s       11.3s",
	}
	must(t, err)
	got := strings.Split(out, "\n")
	for i, line := range want { // the tests of package console cover the bars
		if i >= len(got) || !strings.HasPrefix(got[i], line) {
			t.Fatalf("got\n%s\nwant\n%s", out, strings.Join(want, "\n"))
		}
	}
	if !strings.Contains(out, "then it gives up: the limit of 4 retries is reached") || strings.Count(out, "●") != 4 {
		t.Error(out)
	}
	for _, line := range got {
		if len([]rune(line)) > 80 {
			t.Errorf("a line of %d letters on a terminal of 80: %s", len([]rune(line)), line)
		}
	}
}

// A narrow terminal has no room for the bars.
func TestShowNarrow(t *testing.T) {
	t.Setenv("COLUMNS", "40")
	out, _, err := inProcess(t, "show", "-n2", "linear d=1s tiled", "sidekiq")
	want := `linear d=1s tiled
 n   least  median    most     sum
 1       0   500ms      1s   500ms
 2      1s    1.5s      2s      2s

sidekiq
 n   least  median    most     sum
 1     15s     30s     45s     30s
 2     16s     46s   1m16s   1m16s
`
	if err != nil || out != want {
		t.Errorf("%v, got\n%s\nwant\n%s", err, out, want)
	}
}

func TestShowSeveral(t *testing.T) {
	out, _, err := inProcess(t, "show", "-n", "3", "mine: constant d=1s", "theirs: linear d=2s")
	if err != nil || !strings.HasPrefix(out, "mine: constant d=1s\n") || !strings.Contains(out, "\n\ntheirs: linear d=2s\n") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestShowJSONAndCSV(t *testing.T) {
	out, _, err := inProcess(t, "show", "--json", "-n", "2", "a: linear d=1s", "constant d=5ms")
	var got []struct {
		Name, Policy, Go string
		Rows             []struct {
			N                               int
			Least, Median, Most, Cumulative time.Duration
		}
	}
	must(t, json.Unmarshal([]byte(out), &got))
	if err != nil || len(got) != 2 || got[0].Name != "a" || got[0].Rows[1].Cumulative != 3*time.Second || got[1].Rows[0].Most != 5*time.Millisecond ||
		got[1].Go != "var policy = retry.New(backoff.Constant(5*time.Millisecond))" {
		t.Errorf("%v %+v", err, got)
	}
}

func TestPicturesAndPages(t *testing.T) {
	commands := map[string][]string{
		"show":   {"show", "sidekiq", "constant d=5s limit=3"},
		"never":  {"show", "constant d=0s limit=0"},
		"herd":   {"sim", "herd", "--runs=1", "--jobs=20", "sidekiq", "linear d=1s tiled", "constant d=5s"},
		"occ":    {"sim", "occ", "--runs=1", "--clients=10", "--points=2", "linear d=10ms jitter=full", "constant d=0s"},
		"outage": {"sim", "outage", "--clients=50", "--down=10s", "linear d=1s", "sidekiq"},
	}
	for name, args := range commands {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			exts := []string{"svg", "html"}
			if name == "herd" || name == "occ" {
				exts = exts[:1]
			}
			for _, ext := range exts {
				file := filepath.Join(dir, "x."+ext)
				out, errOut, err := inProcess(t, append(args, "-o", file)...)
				if err != nil || out != "" || errOut != "" {
					t.Fatalf("%s: %v, %q, %q", ext, err, out, errOut)
				}
				b, err := os.ReadFile(file)
				must(t, err)
				begins := map[string]string{"svg": "<svg ", "html": "<!doctype html>"}[ext]
				if !strings.HasPrefix(string(b), begins) || strings.Contains(string(b[:min(len(b), 100_000)]), "NaN ") {
					t.Errorf("%s: %d bytes that begin with %.40q", ext, len(b), b)
				}
			}
			if names, err := os.ReadDir(dir); err != nil || len(names) != len(exts) {
				t.Errorf("%v, %d files, want %d", err, len(names), len(exts))
			}
		})
	}
}

func TestShowRefuses(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a.svg")
	must(t, os.Mkdir(folder, 0o700))
	tests := map[string]refusal{
		"nothing":         {nil, []string{"show: no policy given", "exponential base=100ms"}},
		"a curve":         {[]string{"linaer d=1s"}, []string{`"linaer"`, "did you mean linear?"}},
		"a jitter":        {[]string{"linear d=1s jitter=ful"}, []string{`"jitter=ful" at column 13: "ful": no such jitter, want none, default, full`}},
		"too many":        {strings.Split(strings.Repeat("sidekiq,", 8)+"sidekiq", ","), []string{"9 policies, want at most 8"}},
		"twice":           {[]string{"sidekiq", "sidekiq"}, []string{`there are two policies "sidekiq", want a name for each, as in "mine: sidekiq"`}},
		"no retries":      {[]string{"-n", "0", "sidekiq"}, []string{"--retries is 0, want 1 to 10000"}},
		"a file":          {[]string{"-o", "x.pdf", "sidekiq"}, []string{`--output is "x.pdf"`, ".svg or .html"}},
		"a folder":        {[]string{"-o", filepath.Join(t.TempDir(), "no", "x.svg"), "sidekiq"}, []string{"show: --output is", "want a file in a folder that exists: there is no"}},
		"to a folder":     {[]string{"-o", folder, "sidekiq"}, []string{"show: --output is", "which is a folder, want a file"}},
		"a file and JSON": {[]string{"--json", "-o", "x.svg", "sidekiq"}, []string{"want --output or --json, not both"}},
		"no quotes":       {[]string{"exponential", "base=1s", "factor=2"}, []string{`a policy is split into 3 arguments, want one quoted argument: "exponential base=1s factor=2"`}},
		"no quotes, typo": {[]string{"exponential", "base=1s", "fator=2"}, []string{`show: a policy is split into 3 arguments, want one quoted argument: "exponential base=1s fator=2"`}},
		"no quotes, name": {[]string{"mine:", "linear", "d=1s", "tiled", "sidekiq"}, []string{`a policy is split into 4 arguments, want one quoted argument: "mine: linear d=1s tiled"`}},
		"no quotes, last": {[]string{"linear d=1s", "sidekiq", "limit=5"}, []string{`a policy is split into 2 arguments, want one quoted argument: "sidekiq limit=5"`}},
		"an option":       {[]string{"limit=5", "sidekiq"}, []string{`"limit=5"`}},
		"some quotes":     {[]string{"sidekiq", "linear", "d=1s"}, []string{`a policy is split into 2 arguments, want one quoted argument: "linear d=1s"`}},
	}
	refuses(t, "show", tests)
}

func TestPoliciesAreCompleted(t *testing.T) {
	out, _, err := inProcess(t, "__complete", "show", "expo")
	if err != nil || !strings.Contains(out, "exponential base=1s") {
		t.Errorf("%v\n%s", err, out)
	}
	for _, s := range starts {
		if _, _, err := inProcess(t, "show", s); err != nil {
			t.Errorf("%q: %v", s, err)
		}
	}
}

// On a terminal verdicts have colors.
func TestColored(t *testing.T) {
	for text, want := range map[string]string{
		"10 of 10": "\x1b[32m10 of 10\x1b[0m", "0 of 1,000": "\x1b[31m0 of 1,000\x1b[0m", "recovers in 3 of 10 runs": "recovers in \x1b[33m3 of 10\x1b[0m runs",
		"7 of 7 give up": "7 of 7 give up", "▶ a  ✗ b  never": "\x1b[32m▶\x1b[0m a  \x1b[31m✗\x1b[0m b  \x1b[31mnever\x1b[0m", "nevertheless": "nevertheless",
	} {
		if got := colored(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

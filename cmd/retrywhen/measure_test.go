package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/retry"
)

// beMeasured is a client that makes one call, with a fault: FAULT, URL.
func beMeasured(fault, url string) int {
	client := &http.Client{Timeout: 500 * time.Millisecond}
	if fault == "deaf" {
		ignoreSignals()
		_ = os.WriteFile(filepath.Join(os.Getenv("MEASURED"), fmt.Sprint(os.Getpid())), nil, 0o600)
	}
	if os.Getenv("RETRYWHEN_URL") != url || url != "http://"+os.Getenv("RETRYWHEN_ADDR") {
		fault = "fails"
	}
	for n := 1; ; n++ {
		resp, err := client.Get(url + "/price")
		again := fault == "hot"
		if err == nil {
			var text []byte
			text, err = io.ReadAll(resp.Body)
			_ = resp.Body.Close()
			if s := resp.StatusCode; s == http.StatusOK && err == nil && fault != "fails" {
				fmt.Println(string(text))
				return 0
			} else if s != http.StatusOK {
				err = errors.New(resp.Status)
				again = s == http.StatusServiceUnavailable && resp.Header.Get("Retry-After") == ""
			}
		}
		if fault == "deaf" {
			time.Sleep(time.Hour)
		}
		if !again || n == 4 {
			fmt.Fprintln(os.Stderr, "error:", err)
			return 1
		}
		if fault != "hot" {
			time.Sleep(100*time.Millisecond<<n + rand.N(100*time.Millisecond<<n))
		}
	}
}

func measureIt(t *testing.T, fault string, flags ...string) (stdout, stderr string, err error) {
	t.Helper()
	args := append([]string{"measure", "--within=2s", "--stop=2s"}, flags...)
	stdout, stderr, err = inProcess(t, append(args, "--", os.Args[0], childWord, "measured", fault, "{url}")...)
	if errors.Is(err, prove.ErrBusy) {
		t.Skip(err)
	}
	return stdout, stderr, err
}

func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("each takes seconds")
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		out, errs, err := measureIt(t, "none", "--answer", `{"price": 12}`)
		if err != nil || errs != "" || !strings.HasPrefix(out, "the server, to GET /price ") || !strings.Contains(out, "\npolicy: ") {
			t.Errorf("%v %s\n%s", err, errs, out)
		}
		policy, _, _ := strings.Cut(out[strings.Index(out, "\npolicy: ")+9:], "\n")
		if p, err := retry.Parse(policy); err != nil {
			t.Error(err)
		} else if limit, _ := p.Limit(); limit != 3 {
			t.Errorf("got %s, want limit=3", policy)
		}
		for _, command := range []string{"show", "sim overload"} {
			if !strings.Contains(out, fmt.Sprintf("\n  retrywhen %s %q\n", command, policy)) {
				t.Errorf("there is no %s:\n%s", command, out)
			}
		}
	})
	t.Run("hot", func(t *testing.T) {
		t.Parallel()
		out, _, err := measureIt(t, "hot", "--json", "--known", "vain=it is a test", "--known", "half=it was, once")
		var m prove.Measured
		failed := json.Unmarshal([]byte(out), &m)
		if code, _ := errors.AsType[exitCode](err); failed != nil || code != 1 {
			t.Fatalf("%v, %v\n%s", err, failed, out)
		}
		if len(m.Findings) != 1 || m.Findings[0].Kind != prove.Hot || !strings.Contains(m.Policy, " limit=3") || m.Rows[0].Result != `{"ok":true}` || m.Rows[2].Waits == nil {
			t.Errorf("got %+v", m)
		}
	})
	t.Run("fails", func(t *testing.T) {
		t.Parallel()
		_, _, err := measureIt(t, "fails")
		if _, own := errors.AsType[ownFailure](err); !own || !strings.HasPrefix(err.Error(), "prove: undisturbed: the program failed: exit status 1: error: ") {
			t.Errorf("got %v", err)
		}
	})
}

// The table has a row for several statuses, lines have at most the terminal's width, and nothing but findings and the
// policy has a word with a colon at its beginning.
func TestMeasureTable(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	t.Setenv("LC_ALL", "C.UTF-8")
	ms := func(all ...int) (waits []time.Duration) {
		for _, n := range all {
			waits = append(waits, time.Duration(n)*time.Millisecond)
		}
		return waits
	}
	var out bytes.Buffer
	err := writeMeasured(&out, prove.Measured{
		Request: "POST /orders",
		Rows: []prove.Row{
			{Way: "undisturbed", Requests: 1, How: "succeeds"},
			{Way: "503 throughout", Requests: 17, Waits: ms(1001, 2004, 4012, 8123, 16001, 30000), How: "goes on after 31s"},
			{Way: "408", Requests: 2, Waits: ms(997), How: "succeeds after 998ms"},
			{Way: "429", Requests: 2, Waits: ms(1012), How: "succeeds after 1.01s"},
			{Way: "400", Requests: 1, How: "fails at once"},
			{Way: "401", Requests: 2, How: "fails after 1s"},
			{Way: "silence", Requests: 1, How: "still waits after 31s, and does not end when it is told to, nor later"},
		},
		Findings: []prove.Finding{{Kind: prove.Silent, Where: "silence", What: "it still waits", Mend: "is there a timeout?", Scenarios: 2, Shown: 2, Known: "it is slow"}},
		Policy:   "constant d=1s", Or: []string{"linear d=1s"}, Why: "1 wait",
	}, []string{"known, but not found: hot (once)"})
	want := `the server, to POST /orders  requests  waits                      the program
undisturbed                         1                             succeeds
503 throughout                     17  1s 2s 4.01s 8.12s 16s 30s  goes on after 31s
408 429                             2  997ms                      succeeds after 998ms
400                                 1                             fails at once
401                                 2                             fails after 1s
silence                             1                             still waits after 3…

silent: silence: it still waits; is there a timeout? (2 of 2 such scenarios); known: it is slow
known, but not found: hot (once)

policy: constant d=1s
  1 wait
  or: linear d=1s
  retrywhen show "constant d=1s"
  retrywhen sim overload "constant d=1s"
`
	if err != nil || out.String() != want {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
	out.Reset()
	if err := writeMeasured(&out, prove.Measured{Why: "a failure that goes on is not retried"}, nil); err != nil || out.String() != "  no policy: a failure that goes on is not retried\n" {
		t.Errorf("%v, %q", err, out.String())
	}
}

// A signal ends all runs, and what is known is printed.
func TestMeasure_Interrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	var out bytes.Buffer
	c := newCommand(&out, io.Discard)
	c.SetArgs([]string{"measure", "--", os.Args[0], childWord, "measured", "none", "{url}"})
	time.AfterFunc(2*time.Second, func() { cancel(diedBy{os.Interrupt}) })
	begun := time.Now()
	err := execute(ctx, c)
	if death, ok := errors.AsType[diedBy](err); !ok || death.signal != os.Interrupt || time.Since(begun) > 25*time.Second {
		t.Errorf("got %v after %v", err, time.Since(begun))
	}
}

// The commands that measure prints take their policy, for each form that it infers. One run is enough to see that.
func TestMeasureCommands(t *testing.T) {
	for _, policy := range []string{
		"constant d=0s", "constant d=0s limit=3", "constant d=1s attempttimeout=5s", "constant d=1m30s jitter=full limit=2",
		"exponential base=1s factor=2 jitter=default limit=4", "exponential base=123ms factor=1.6 cap=1m jitter=deviation:0.5 limit=7 attempttimeout=2.5s",
		"exponential base=200ms factor=2 jitter=uniform:1:1.25 limit=3", "linear d=1s cap=5s jitter=equal limit=9", "quadratic d=100ms limit=5",
		"fibonacci d=1s jitter=deviation:1", "table delays=0s,2s,4s,8s limit=4", "decorrelated base=100ms limit=6 attempttimeout=1s",
	} {
		t.Run(policy, func(t *testing.T) {
			var out bytes.Buffer
			must(t, writeMeasured(&out, prove.Measured{Policy: policy}, nil))
			for command, flags := range map[string][]string{"show": nil, "sim overload": {"--runs=1", "--stall=100ms"}} {
				_, rest, _ := strings.Cut(out.String(), "\n  retrywhen "+command+" ")
				line, _, _ := strings.Cut(rest, "\n")
				printed, err := strconv.Unquote(line)
				if err != nil || printed != policy {
					t.Fatalf("%s takes %s, want %q", command, line, policy)
				}
				got, _, err := inProcess(t, append(append(strings.Fields(command), flags...), printed)...)
				if err != nil || !strings.Contains(got, policy) {
					t.Errorf("%s: %v\n%s", command, err, got)
				}
			}
		})
	}
}

// measuredRow is a client in benchmarks/measured/MEASURED.md: its name, version, policy, findings and command.
var measuredRow = regexp.MustCompile("(?m)^\\| (.*) \\| (.*) \\| (?:`(.*)`|–) \\| (.*) \\| `retrywhen measure (.*)` \\|$")

// The clients of benchmarks/measured/MEASURED.md do what it says. Programs for node are installed from npm.
func TestMeasureDocument(t *testing.T) {
	if os.Getenv("RETRYWHEN_NIGHTLY") == "" {
		t.Skip("it needs clients of Debian and npm, and a quiet machine; RETRYWHEN_NIGHTLY enables it")
	}
	_ = os.Getenv("RETRYWHEN_DOCUMENTS") // so that the test is not cached when a document changes: .ci/run
	text, err := os.ReadFile("../../benchmarks/measured/MEASURED.md")
	must(t, err)
	rows := measuredRow.FindAllStringSubmatch(string(text), -1)
	if len(rows) < 10 {
		t.Fatalf("%d rows", len(rows))
	}
	folder := t.TempDir()
	must(t, os.CopyFS(folder, os.DirFS("testdata/measure")))
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

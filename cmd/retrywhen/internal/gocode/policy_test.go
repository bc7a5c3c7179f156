package gocode

import (
	"fmt"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

var lines = []struct{ text, want string }{
	{"exponential base=100ms factor=2 cap=30s jitter=full limit=5", "retry.New(backoff.Exponential(100*time.Millisecond, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.Limit(5))"},
	{"exponential base=1s factor=1.5 plus=3m", "retry.New(backoff.Exponential(time.Second, 1.5).Plus(3*time.Minute))"},
	{"constant d=0s", "retry.New(backoff.Constant(0))"},
	{"constant d=5m limit=0", "retry.New(backoff.Constant(5*time.Minute), retry.Limit(0))"},
	{"linear d=52.32s tiled limit=5", "retry.New(backoff.Linear(52320*time.Millisecond).Tiled(), retry.Limit(5))"},
	{"quadratic d=1s jitter=default", "retry.New(backoff.Quadratic(time.Second).Jitter(jitter.Deviation(0.15)))"},
	{"polynomial d=1h degree=0.5 jitter=deviation:0.3", "retry.New(backoff.Polynomial(time.Hour, 0.5).Jitter(jitter.Deviation(0.3)))"},
	{"fibonacci d=1us jitter=uniform:0.5:1.5", "retry.New(backoff.Fibonacci(time.Microsecond).Jitter(jitter.Uniform(0.5, 1.5)))"},
	{"table delays=10ms,0s,1s,7ns jitter=equal", "retry.New(backoff.Table(10*time.Millisecond, 0, time.Second, 7*time.Nanosecond).Jitter(jitter.Equal))"},
	{"sidekiq cap=1h key=42", "retry.New(backoff.Sidekiq().Cap(time.Hour).Keyed(42))"},
	{"linear d=1s tiled ordinal=3", "retry.New(backoff.Linear(time.Second).Tiled().Ordinal(3))"},
	{"buckets unit=1s exponent=3", "retry.New(backoff.Buckets(time.Second, 3))"},
	{"decorrelated base=5ms cap=2s", "retry.New(backoff.Decorrelated(5*time.Millisecond).Cap(2*time.Second))"},
	{
		"constant d=1s limit=3 within=1m stopat=10s attempttimeout=2s resetafter=30s resetafteritems=1 maxretryafter=1h",
		"retry.New(backoff.Constant(time.Second), retry.Limit(3), retry.Within(time.Minute), retry.StopAt(10*time.Second), retry.AttemptTimeout(2*time.Second), retry.ResetAfter(30*time.Second), retry.ResetAfterItems(1), retry.MaxRetryAfter(time.Hour))",
	},
}

func parse(t *testing.T, text string) retry.Policy {
	t.Helper()
	p, err := retry.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Every word has its code.
func TestPolicyHasAllWords(t *testing.T) {
	for _, w := range retry.Words() {
		p := parse(t, "constant d=1s "+w.String())
		before, _, _ := strings.Cut(w.Go, "{")
		if got := Policy("policy", p, sim.OneProcess); !strings.Contains(got, before) && w.Example != "none" || strings.Contains(got, "{1}") {
			t.Errorf("%s: %s, want %s in it", w, got, before)
		}
	}
}

func TestPolicy(t *testing.T) {
	for _, l := range lines {
		p := parse(t, l.text)
		want := l.want
		if strings.Contains(l.text, "jitter=default") { // the text form may have either of its two names
			want = strings.Replace(want, "jitter.Deviation(0.15)", "jitter.Default", 1)
		}
		if got := Policy("policy", p, sim.OneProcess); got != "var policy = "+want {
			t.Errorf("%s:\n%s\nwant\n%s", l.text, got, want)
		}
	}
}

func TestIdentifier(t *testing.T) {
	for title, want := range map[string]string{
		"three retries": "threeRetries", "Fast path": "fastPath", "3 retries": "policy3Retries", "time": "timePolicy", "func": "funcPolicy", "…": "Policy",
	} {
		if got := identifier(title); got != want {
			t.Errorf("%q is %s, want %s", title, got, want)
		}
	}
}

// The file of all policies, with any titles, is compiled and run: its policies have the original texts.
func TestFileIsMade(t *testing.T) {
	dir, err := os.MkdirTemp(".", "_policies-") // in the module, so that it finds the dependencies
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var all []Named
	var want strings.Builder
	titles := []string{"mine", "", "mine", "3 retries", "time", "über \"alles\"", "a b\tc", "retry", "func", "minePolicy", "mine 2"}
	for i, l := range lines {
		p := parse(t, l.text)
		all = append(all, Named{titles[i%len(titles)], p, sim.OneProcess})
		fmt.Fprintln(&want, p)
	}
	text := File(all)
	names := regexp.MustCompile(`(?m)^var (\w+) = retry`).FindAllStringSubmatch(text, -1)
	if len(names) != len(all) {
		t.Errorf("%d variables, want %d\n%s", len(names), len(all), text)
	}
	if _, formatted := format.Source([]byte(text)); formatted != nil {
		t.Errorf("%v\n%s", formatted, text)
	}
	var main strings.Builder
	main.WriteString("\nfunc main() {\n")
	for _, n := range names {
		main.WriteString("\tprintln(" + n[1] + ".String())\n")
	}
	text = strings.Replace(text, "package policies", "package main", 1) + main.String() + "}\n"
	if err := os.WriteFile(filepath.Join(dir, "main.go"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), "go", "run", "./"+dir).CombinedOutput()
	if err != nil || string(out) != want.String() {
		t.Errorf("%v\n%s\nwant\n%s\n%s", err, out, want.String(), text)
	}
}

func TestFileOfPlacedPolicies(t *testing.T) {
	p := parse(t, "linear d=1s tiled budget=10,1,0.1")
	got := File([]Named{{"a", p, sim.OneProcess}, {"b", p, sim.ByOrdinal}, {p.String(), p, sim.OneProcess}})
	const want = `package policies

import (
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/retry"
)

// a: linear d=1s tiled budget=10,1,0.1
var a = retry.New(backoff.Linear(time.Second).Tiled(), retry.WithBudget(retry.NewBudget(10, 1, 0.1)))

// b: linear d=1s tiled budget=10,1,0.1 place=by-ordinal
var bBudget = retry.NewBudget(10, 1, 0.1)

func b(ordinal uint64) retry.Policy { return retry.New(backoff.Linear(time.Second).Tiled().Ordinal(ordinal), retry.WithBudget(bBudget)) }

// linear d=1s tiled budget=10,1,0.1
var linearD1sTiledBudget10101 = retry.New(backoff.Linear(time.Second).Tiled(), retry.WithBudget(retry.NewBudget(10, 1, 0.1)))
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// The declaration depends on the placement.
func TestPolicyOfAPlacement(t *testing.T) {
	for _, test := range []struct {
		text  string
		place sim.Placement
		want  string
	}{
		{"linear d=1s tiled key=7", sim.ByOrdinal, "func policy(ordinal uint64) retry.Policy { return retry.New(backoff.Linear(time.Second).Tiled().Ordinal(ordinal)) }"},
		{"linear d=1s limit=3 budget=10,1,0.1", sim.OneProcess, "var policy = retry.New(backoff.Linear(time.Second), retry.Limit(3), retry.WithBudget(retry.NewBudget(10, 1, 0.1)))"},
		{"linear d=1s budget=10,1,0.1,2", sim.ByOrdinal, "var policyBudget = retry.NewBudget(10, 1, 0.1).Refill(2)\n\nfunc policy(ordinal uint64) retry.Policy { return retry.New(backoff.Linear(time.Second).Ordinal(ordinal), retry.WithBudget(policyBudget)) }"},
	} {
		p := parse(t, test.text)
		if got := Policy("policy", p, test.place); got != test.want {
			t.Errorf("%s, %v:\n%s\nwant\n%s", test.text, test.place, got, test.want)
		}
	}
}

// A long declaration breaks before the options, and stays Go.
func TestWrap(t *testing.T) {
	p := parse(t, "exponential base=100ms factor=2 cap=2s jitter=full limit=3 attempttimeout=1s budget=10,1,0.1")
	code := Policy("policy", p, sim.OneProcess)
	for width, want := range map[int]int{1: 5, 100: 3, 120: 2, 1000: 1} {
		lines := Wrap(width, code)
		if _, err := format.Source([]byte("package p\n\n" + strings.Join(lines, "\n"))); err != nil || len(lines) != want {
			t.Errorf("%d wide: %v, %q", width, err, lines)
		}
		for _, l := range lines {
			if width >= 100 && len(l) > width {
				t.Errorf("%d wide: %q", width, l)
			}
		}
	}
}

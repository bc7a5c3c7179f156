package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/lab"
	"github.com/retrywhen/retrywhen/cmd/retrywhen/internal/report"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/sim"
)

// readPage runs a command with a page as its output, reads the page's data into data, and returns the page.
func readPage(t *testing.T, data any, args ...string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "x.html")
	if _, errOut, err := inProcess(t, append(args, "-o", file)...); err != nil {
		t.Fatalf("%q: %v %s", args, err, errOut)
	}
	b, err := os.ReadFile(file)
	must(t, err)
	_, rest, _ := bytes.Cut(b, []byte(`<script id="data" type="application/json">`))
	text, _, _ := bytes.Cut(rest, []byte("</script>"))
	if err := json.Unmarshal(text, data); err != nil {
		t.Fatalf("%q: %v", args, err)
	}
	return b
}

// pageOf returns the numbers of the tab of a command's page.
func pageOf(t *testing.T, args ...string) (tab string, numbers any) {
	t.Helper()
	var page struct{ Numbers map[string]any }
	if readPage(t, &page, args...); len(page.Numbers) != 1 {
		t.Fatalf("%q: numbers of %d tabs", args, len(page.Numbers))
	}
	for tab, numbers = range page.Numbers {
	}
	return tab, numbers
}

// randomState returns a small state of a tab with random settings.
func randomState(t *testing.T, tab lab.Tab, rng *rand.Rand) lab.State {
	t.Helper()
	pick := func(texts ...string) string { return texts[rng.IntN(len(texts))] }
	duration := func(most time.Duration) time.Duration { return time.Duration(1 + rng.Int64N(int64(most))) }
	s := lab.First(tab)
	s.Affected, s.Capacity, s.Down, s.Timeout = 1+rng.IntN(80), 1+rng.IntN(40), duration(20*time.Second), time.Duration(rng.IntN(3))*duration(time.Second)
	var texts []string
	for i := range 1 + rng.IntN(3) {
		text := pick("", fmt.Sprintf("policy %d: ", i), fmt.Sprintf("a \"b\" $x `%d`!: ", i)) + fmt.Sprintf("exponential base=%v factor=%v", duration(3*time.Second), 1+float64(rng.IntN(30))/10)
		text += pick("", " cap=30s", " cap=7s plus=10ms") + pick("", " jitter=full", " jitter=equal", " tiled", " jitter=uniform:0.5:1.5 key=7")
		text += pick("", " limit=3", " limit=1 within=40s") + pick("", " attempttimeout=700ms", " resetafter=1s resetafteritems=3 maxretryafter=1h")
		text += pick("", " budget=10,1,0.1", fmt.Sprint(" budget=3,1,0.5,2 processes=", min(3, s.Affected))) + pick("", " place=by-ordinal", " layers=2")
		texts = append(texts, text)
	}
	var err error
	s.Strategies, err = report.ParseStrategies(texts)
	must(t, err)
	s.Load, s.Rate, s.Stall, s.Patience, s.Failures = 1+rng.IntN(60), 1+rng.IntN(80), duration(8*time.Second), duration(3*time.Second), float64(rng.IntN(4))/100
	s.Watch = 50*time.Second + duration(time.Minute)
	s.Outages = []time.Duration{duration(10 * time.Second), duration(20 * time.Second)}
	s.Served, s.Wait = time.Duration(rng.IntN(2))*duration(time.Minute), time.Duration(rng.IntN(2))*(time.Second+duration(2*time.Second))
	s.Seed = uint64(rng.IntN(3))
	return s
}

// The commands that the page shows reproduce the page's numbers, and run in a shell.
func TestLabCommandsReproduceThePage(t *testing.T) {
	n := 5
	if os.Getenv("RETRYWHEN_NIGHTLY") != "" {
		n = 100
	}
	for _, tab := range lab.Tabs {
		t.Run(string(tab), func(t *testing.T) {
			for i := range n {
				s := randomState(t, tab, rand.New(rand.NewPCG(uint64(i), 1)))
				result, err := lab.Numbers(t.Context(), string(tab), s.Query().Encode())
				if err != nil {
					t.Fatalf("%s: %v", s.Command(), err)
				}
				text, err := json.Marshal(result)
				must(t, err)
				var want any
				must(t, json.Unmarshal(text, &want))
				if tab == lab.TabRecover { // its command writes no page
					sameRuns(t, s.Command(), text)
					continue
				}
				on, got := pageOf(t, shellWords(t, s.Command())[1:]...)
				if on != string(tab) {
					t.Errorf("%s: its page is %s", s.Command(), on)
				}
				same(t, s.Command(), got, want)
			}
		})
	}
}

// The Go code that the page shows compiles: that of many settings of each tab, as one package. Its policies are the
// page's.
func TestLabGoCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a program is built")
	}
	dir, err := os.MkdirTemp(".", "_lab-") // in the module, so that it finds the dependencies
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	var declarations, calls, want strings.Builder
	taken := 0
	take := func(file string, policies []string, timeout time.Duration) {
		t.Helper()
		_, body, ok := strings.Cut(file, "\n)\n")
		names := regexp.MustCompile(`(?m)^var (\w+) = retry\.New\(|^func (\w+)\(`).FindAllStringSubmatch(body, -1)
		if !ok || len(names) != len(policies) {
			t.Fatalf("%d policies in\n%s\nwant %d", len(names), file, len(policies))
		}
		for i, found := range names {
			name, own := found[1]+found[2], fmt.Sprintf("p%d", taken)
			taken++
			body = regexp.MustCompile(`(?m)(^var |^func |WithBudget\()`+name+`((?:Budget)?\b)`).ReplaceAllString(body, "${1}"+own+"${2}")
			s, err := report.ParseStrategy(policies[i])
			must(t, err)
			s = s.Timed(timeout)
			if found[2] != "" {
				own += "(7)"
			}
			b := s.Policy.Backoff()
			if s.Placement == sim.ByOrdinal {
				b = b.Ordinal(7)
			}
			fmt.Fprintf(&calls, "\tfmt.Println(%s)\n", own)
			fmt.Fprintln(&want, s.Policy.With(retry.WithBackoff(b)))
		}
		declarations.WriteString(body)
	}
	settings := 10
	if os.Getenv("RETRYWHEN_NIGHTLY") != "" {
		settings = 100
	}
	for _, tab := range lab.Tabs {
		if tab == lab.TabChoose {
			settings /= 5 // each is many simulations
		}
		for i := range settings {
			s := randomState(t, tab, rand.New(rand.NewPCG(uint64(i), 2)))
			var state struct {
				Go         string
				Strategies []struct{ Text, Go string }
			}
			reply(t, "state", s, &state)
			timeout := map[lab.Tab]time.Duration{lab.TabRecover: s.Patience, lab.TabOutage: s.Timeout}[tab] // of the run
			var policies []string
			for _, x := range state.Strategies {
				policies = append(policies, x.Text)
				take("\n)\n"+x.Go+"\n", []string{x.Text}, timeout)
			}
			take(state.Go, policies, timeout)
			if tab != lab.TabChoose {
				continue
			}
			var choice struct {
				File       string
				Policies   []struct{ Policy, Go string }
				Strategies []struct{ Text, Go string }
			}
			reply(t, string(tab), s, &choice)
			policies = nil
			for _, p := range choice.Policies {
				policies = append(policies, p.Policy)
			}
			for _, x := range choice.Strategies {
				policies = append(policies, x.Text)
			}
			take(choice.File, policies, 0)
		}
	}
	const head = "package main\n\nimport (\n\t\"fmt\"\n\t\"time\"\n\n\t\"github.com/retrywhen/retrywhen/backoff\"\n\t\"github.com/retrywhen/retrywhen/jitter\"\n\t\"github.com/retrywhen/retrywhen/retry\"\n)\n\n"
	program := head + declarations.String() + "\nfunc main() {\n" + calls.String() + "}\n"
	must(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(program), 0o600))
	for _, args := range [][]string{{"vet", "./" + dir}, {"run", "./" + dir}} {
		out, err := exec.CommandContext(t.Context(), "go", args...).CombinedOutput()
		if err != nil {
			t.Fatalf("go %s: %v\n%.3000s", args[0], err, out)
		}
		if args[0] == "vet" {
			continue
		}
		got, all := strings.Split(string(out), "\n"), strings.Split(want.String(), "\n")
		for i := range max(len(got), len(all)) {
			if i >= len(got) || i >= len(all) || got[i] != all[i] {
				t.Fatalf("policy %d of %d is not the page's: %q, want %q", i, len(all), got[min(i, len(got)-1)], all[min(i, len(all)-1)])
			}
		}
	}
}

// reply decodes the page's numbers of a kind.
func reply(t *testing.T, kind string, s lab.State, into any) {
	t.Helper()
	numbers, err := lab.Numbers(t.Context(), kind, s.Query().Encode())
	must(t, err)
	text, err := json.Marshal(numbers)
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	must(t, err)
}

// sameRuns compares the command's numbers of the median runs with the page's.
func sameRuns(t *testing.T, command string, page []byte) {
	t.Helper()
	out, errOut, err := inProcess(t, append(shellWords(t, command)[1:], "--json")...)
	var got struct {
		Strategies []struct{ Result sim.OverloadResult }
	}
	var want struct {
		Strategies []struct {
			Verdict string
			Figures []struct {
				Name  string
				Value float64
			}
		}
	}
	if err != nil || json.Unmarshal([]byte(out), &got) != nil || json.Unmarshal(page, &want) != nil || len(got.Strategies) != len(want.Strategies) {
		t.Fatalf("%s: %v %s", command, err, errOut)
	}
	for i, x := range want.Strategies {
		for _, f := range x.Figures {
			if f.Name == "requests" && f.Value != got.Strategies[i].Result.Amplification {
				t.Errorf("%s: %v requests, on the page %v", command, got.Strategies[i].Result.Amplification, f.Value)
			}
		}
	}
}

// same compares numbers of a page, without the words of a policy that have no effect: a command has none.
func same(t *testing.T, command string, got, want any) {
	t.Helper()
	plain := func(numbers any) string {
		for _, s := range numbers.(map[string]any)["strategies"].([]any) {
			delete(s.(map[string]any), "formula")
		}
		text, err := json.MarshalIndent(numbers, "", " ")
		must(t, err)
		return string(text)
	}
	a, b := plain(got), plain(want)
	if a == b {
		return
	}
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(left), len(right)) {
		// The title of a policy without a name is its text.
		if left[i] != right[i] && !strings.Contains(left[i], "exponential") && !strings.Contains(left[i], `"sentence"`) && !strings.Contains(left[i], "entence\"") {
			t.Errorf("%s\nline %d of its numbers is %s, on the page %s", command, i, left[i], right[i])
			return
		}
	}
	if len(left) != len(right) {
		t.Errorf("%s\nhas %d lines of numbers, the page %d", command, len(left), len(right))
	}
}

// shellWords splits a command as a shell does, with its quotes.
func shellWords(t *testing.T, command string) []string {
	t.Helper()
	var (
		words          []string
		word           strings.Builder
		quote          rune
		begun, escaped bool
	)
	for _, r := range command {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case quote == 0 && r == '\\':
			escaped = true
		case quote == r:
			quote = 0
		case quote == 0 && (r == '"' || r == '\''):
			quote, begun = r, true
		case quote == 0 && r == ' ':
			if begun {
				words = append(words, word.String())
				word.Reset()
				begun = false
			}
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	return append(words, word.String())
}

// The command line on a page is the one that wrote it: running it again writes the same page.
func TestThePageHasItsCommand(t *testing.T) {
	args := []string{"sim", "outage", "--clients=20", "--down", "5s", "--budget=10,1,0.1", "--slots", "mine: linear d=1s limit=3", `"it's": sidekiq`}
	var page struct{ State struct{ Command string } }
	first := readPage(t, &page, args...)
	command := page.State.Command
	if !bytes.Equal(readPage(t, &page, shellWords(t, command)[1:]...), first) {
		t.Errorf("%s writes another page", command)
	}
}

package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"github.com/retrywhen/retrywhen/prove"
)

// logServer sends the lines of a file after the first N to a client that asks for "FILE N", as they come, and an empty
// line as a heartbeat. It returns its address.
func logServer(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	over := make(chan struct{})
	var clients sync.WaitGroup
	clients.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			clients.Go(func() {
				defer func() { _ = c.Close() }()
				var file string
				var next int
				_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
				if _, err := fmt.Fscanf(c, "%s %d\n", &file, &next); err != nil {
					return
				}
				for quiet := 0; ; quiet++ {
					select {
					case <-over:
						return
					case <-time.After(5 * time.Millisecond):
					}
					text, _ := os.ReadFile(file)
					lines := slices.Collect(strings.Lines(string(text)))
					var send string
					if next < len(lines) && strings.HasSuffix(lines[next], "\n") {
						send = strings.TrimSpace(lines[next])
						next++
					} else if quiet > 0 && (quiet%80 > 0 || len(lines) < 3) { // a heartbeat between the events would move their bytes
						continue
					}
					if _, err := fmt.Fprintln(c, send); err != nil {
						return
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		close(over)
		_ = l.Close()
		clients.Wait()
	})
	return l.Addr().String()
}

// beProven is a client of a logServer, with a fault: FAULT, ADDR, FILE.
func beProven(fault, addr, file string) int {
	if fault == "stubborn" {
		ignoreSignals()
	}
	fmt.Println("# connecting to", addr) // no value
	if strings.HasPrefix(fault, "stored") && startsIn(filepath.Dir(file)) > 6 {
		fmt.Print("got event 1\ngot event 2\ngot event 3\n")
		time.Sleep(time.Minute)
	}
	for next := 0; ; time.Sleep(50 * time.Millisecond) {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			continue
		}
		_, _ = fmt.Fprintln(c, file, next)
		for lines := bufio.NewReader(c); ; {
			if fault != "deaf" {
				_ = c.SetReadDeadline(time.Now().Add(2 * time.Second))
			}
			line, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			if line = strings.TrimSpace(line); line != "" {
				fmt.Println("got", line)
				next++
			}
		}
		_ = c.Close()
		switch fault {
		case "gives up":
			fmt.Fprintln(os.Stderr, "the feed is lost\nbye")
			return 3
		case "ends":
			return 0
		case "again", "stored, again":
			next = 0
		}
	}
}

// startsIn returns how often it was called with a folder.
func startsIn(folder string) int {
	f, err := os.OpenFile(filepath.Join(folder, "starts"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	if err != nil {
		panic(err)
	}
	defer func() { _ = f.Close() }()
	_, _ = f.WriteString(".")
	text, _ := os.ReadFile(f.Name())
	return len(text)
}

// appending is a shell command that appends a line to a run's file, in the folder.
func appending(folder string) string {
	return "echo event {n} >> " + filepath.Join(folder, "{run}")
}

// proveArgs are the arguments for a client, with times that a busy machine can keep.
func proveArgs(t *testing.T, fault string, flags ...string) []string {
	t.Helper()
	folder := t.TempDir()
	args := append([]string{"prove", "--server", logServer(t), "--event", appending(folder), "--events=3", "--every=50ms",
		"--quiet=500ms", "--within=5s", "--places=2", "--values", "^got (.*)"}, flags...)
	return append(args, asChild(t, "proven", fault, "{addr}", filepath.Join(folder, "{run}"))...)
}

// tooBusy reports whether the machine was, so that nothing holds but that.
func tooBusy(t *testing.T, err error) bool {
	t.Helper()
	if errors.Is(err, prove.ErrBusy) {
		t.Log(err)
		return true
	}
	return false
}

func TestProve(t *testing.T) {
	for name, test := range map[string]struct {
		fault string
		flags string
		want  []string // how the lines of stdout begin
		code  int
	}{
		"right":                {"", "--ways=cut,end", []string{"3 values, 2 places, 6 scenarios, 0 findings"}, 0},
		"again":                {"again", "--ways=end", []string{"repeated: end before chunk ", "3 values, 2 places, 3 scenarios, 1 finding"}, 1},
		"again, allowed":       {"again", "--ways=end --at-least-once", []string{"3 values, 2 places, 3 scenarios, 0 findings"}, 0},
		"known":                {"again", "--ways=end --known repeated=there-are-no-ids", []string{"repeated: ", "1 known finding", "3 values, 2 places, 3 scenarios, 0 findings"}, 0},
		"known, but not found": {"", "--ways=end --known hot=it-spins", []string{"known, but not found: hot (it-spins)", "3 values, 2 places, 3 scenarios, 0 findings"}, 1},
		"gives up":             {"gives up", "--ways=cut", []string{"gave-up: it gave up after 1 connection: exit status 3: the feed is lost; bye; ", "3 values, 2 places, 3 scenarios, 1 finding"}, 1},
		"gives up, allowed":    {"gives up", "--ways=cut --gives-up", []string{"3 values, 2 places, 3 scenarios, 0 findings"}, 0},
		"ends":                 {"ends", "--ways=end", []string{"ended: ", "3 values, 2 places, 3 scenarios, 1 finding"}, 1},
		"deaf":                 {"deaf", "--ways=silence", []string{"silent: ", "3 values, 2 places, 2 scenarios, 1 finding"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errOut, err := inProcess(t, proveArgs(t, test.fault, strings.Fields(test.flags)...)...)
			if tooBusy(t, err) {
				return
			}
			code := 0
			if exit, ok := errors.AsType[exitCode](err); ok {
				code = int(exit)
			} else if err != nil {
				t.Fatal(err)
			}
			lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
			if code != test.code || !slices.EqualFunc(lines, test.want, begins) {
				t.Errorf("exit code %d\n%s\nwant %d and %q", code, out, test.code, test.want)
			}
			for _, want := range test.want[:len(test.want)-1] {
				if kind, _, ok := strings.Cut(want, ": "); ok && !strings.Contains(errOut, "retrywhen: "+kind) && !strings.Contains(errOut, "retrywhen: prove: "+kind) {
					t.Errorf("stderr has not %q:\n%s", kind, errOut)
				}
			}
		})
	}
}

// begins reports whether a line has the kind and the text.
func begins(line, want string) bool {
	kind, text, found := strings.Cut(want, ": ")
	return strings.HasPrefix(line, kind) && (!found || strings.Contains(line, text))
}

func TestProveJSON(t *testing.T) {
	out, _, err := inProcess(t, proveArgs(t, "again", "--ways=cut", "--json")...)
	if tooBusy(t, err) {
		return
	}
	if code, _ := errors.AsType[exitCode](err); code != 1 {
		t.Errorf("got %v, want exit code 1", err)
	}
	var report prove.Report
	if err := json.Unmarshal([]byte(out), &report); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if len(report.Findings) != 1 || report.Findings[0].Kind != prove.Repeated || len(report.Findings[0].Timeline) < 5 || report.Values != 3 || report.Places != 2 || report.Scenarios != 3 {
		t.Errorf("%+v", report)
	}
	for _, name := range []string{"values", "places", "scenarios", "notPlayed", "findings", "kind", "where", "what", "mend", "shown", "known", "timeline"} {
		if !strings.Contains(out, `"`+name+`": `) {
			t.Errorf("there is no %s:\n%s", name, out)
		}
	}
}

// What cannot be judged has an exit code of its own.
func TestProveCannotJudge(t *testing.T) {
	addr := logServer(t)
	for want, args := range map[string][]string{
		"no-such-program": {"--", "no-such-program"},
		"the program delivered 1 value and made no connection through the proxy": asChild(t, "count", filepath.Join(t.TempDir(), "n"), "0", "0"),
		"made no connection through the proxy; does it connect to the address that it is given, in place of the server's?; --values matches none of 1 line of the first run": append(
			[]string{"--values", "^never"}, asChild(t, "count", filepath.Join(t.TempDir(), "n"), "0", "0")...),
		"before: exit status 7: trouble": append([]string{"--before", "echo trouble>&2&& exit 7"}, asChild(t, "exit", "0")...),
	} {
		out, _, err := inProcess(t, append([]string{"prove", "--server", addr, "--parallel=1"}, args...)...)
		if _, own := errors.AsType[ownFailure](err); !own || !strings.Contains(err.Error(), want) || out != "" {
			t.Errorf("got %v and %q, want %s", err, out, want)
		}
	}
}

// Too few breaks are no pass, and what they have shown is a finding.
func TestProveTooFewBreaks(t *testing.T) {
	for fault, want := range map[string]string{"stored": "", "stored, again": "repeated: "} {
		t.Run(fault, func(t *testing.T) {
			t.Parallel()
			out, errOut, err := inProcess(t, proveArgs(t, fault, "--ways=end,cut,silence", "--places=3", "--parallel=1")...)
			if tooBusy(t, err) {
				return
			}
			code, _ := errors.AsType[exitCode](err)
			_, own := errors.AsType[ownFailure](err)
			if own == (want != "") || (code == 1) != (want != "") || !strings.HasPrefix(out, want) || (out == "") != (want == "") {
				t.Errorf("%v\n%s\nwant %q", err, out, want)
			}
			if !strings.Contains(errOut+fmt.Sprint(err), "prove: a connection broke as planned in ") {
				t.Errorf("%v\n%s", err, errOut)
			}
		})
	}
}

// A machine that was too busy has shown nothing: what was found is printed, but it is no failure of the program.
func TestProveOnABusyMachine(t *testing.T) {
	busy := fmt.Errorf("prove: %w", prove.ErrBusy)
	found := []prove.Finding{{Kind: prove.Hot, Where: "refuse"}}
	known := []prove.Known{{Kind: prove.Late, Why: "it is slow"}}
	for _, findings := range [][]prove.Finding{nil, found} {
		var out, errOut strings.Builder
		err := conclude(prove.Report{Findings: findings}, busy, known, &out, &errOut, false)
		if _, own := errors.AsType[ownFailure](err); !own || !errors.Is(err, prove.ErrBusy) || strings.Contains(out.String(), "hot: refuse: ") != (findings != nil) || errOut.Len() > 0 {
			t.Errorf("%v: got %v, %q and %q", findings, err, out.String(), errOut.String())
		}
	}
}

// The placeholders are in the environment too, and what Python writes is not buffered.
func TestProveReplaces(t *testing.T) {
	var got []string
	p := prover{stop: time.Second, event: "echo {host} {port} {addr} {run} {server} {n} >&2&& exit 1"}
	r := prove.Run{Name: "abc", Addr: "127.0.0.1:8080", Server: "db:5432"}
	for _, name := range []string{"ADDR", "HOST", "PORT", "RUN", "SERVER"} {
		if p.args = []string{"sh", "-c", "echo $RETRYWHEN_" + name + " $PYTHONUNBUFFERED"}; runtime.GOOS == "windows" {
			p.args = []string{"cmd", "/c", "echo %RETRYWHEN_" + name + "% %PYTHONUNBUFFERED%"}
		}
		must(t, p.client(t.Context(), r, func(v string) { got = append(got, strings.TrimSpace(v)) }))
	}
	if want := []string{"127.0.0.1:8080 1", "127.0.0.1 1", "8080 1", "abc 1", "db:5432 1"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if err := p.makeEvent(t.Context(), r, 5); err == nil || strings.TrimSpace(err.Error()) != "exit status 1: 127.0.0.1 8080 127.0.0.1:8080 abc db:5432 5" {
		t.Error(err)
	}
}

// A word in braces that is nearly a placeholder is wrong usage; all else is text.
func TestProveMisspelt(t *testing.T) {
	for text, want := range map[string]string{
		"{rum}": "{run}", "{adr}": "{addr}", "{sever}": "{server}", "x={hots}:{prot}": "{host}", "{Port}": "{port}", "{servers}": "{server}",
		"{addr}{host}{port}{run}{server}": "", "{print}": "", "{id}": "", "{}": "", "{1..3}": "", `{"rum": 1}`: "", "${rum}": "", "{n}": "", "{i}": "", "{ rum; }": "", "{in}": "",
		"{HOST}": "", "{name}": "", "{topic}": "", "{rum1}": "",
	} {
		for _, flags := range [][]string{{"--", "c", text}, {"--event", text, "--", "c"}, {"--before", text, "--", "c"}} {
			_, _, err := inProcess(t, append([]string{"prove", "--server", "127.0.0.1:1", "--parallel", "0"}, flags...)...)
			word, _, _ := strings.Cut(text[strings.IndexByte(text, '{'):], "}")
			if got := err.Error(); (want != "") != strings.HasPrefix(got, "prove: there is no "+word+"}; did you mean "+want+"? Placeholders are ") || want == "" && !strings.Contains(got, "--parallel is 0") {
				t.Errorf("%q: got %s, want %s", flags, got, want)
			}
		}
	}
}

func TestProveWords(t *testing.T) {
	replace, _ := words(prove.Run{Name: "abc", Addr: "h:1", Server: "s:2"}, 0)
	if got, want := replace(`{run}${run}{{run}}{"run"}{n}{print}{port}`), `abc${run}{abc}{"run"}{n}{print}1`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Of what a command writes to stderr, the first line that speaks of an error is told, else the last three.
func TestProveComplaint(t *testing.T) {
	for text, want := range map[string]string{
		"":                                 "",
		"a\nb":                             "a; b",
		"a\nb\nc\nd":                       "b; c; d",
		"start\nthe Fatal end\nerror 2\nx": "the Fatal end",
		"node:events:497\n      throw er; // Unhandled 'error' event\n      ^\n\nError: read ECONNRESET\n    at TCP.onStreamRead (x.js:1)\n\nNode.js v20.20.2":       "Error: read ECONNRESET",
		"Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    raise ValueError(\"x\")\nValueError: x":                                       "ValueError: x",
		"panic: boom\n\ngoroutine 1 [running]:\nmain.main()\nexit status 2":                                                                                          "panic: boom",
		"Exception in thread \"main\" java.net.ConnectException: Connection refused\n\tat Main.main(Main.java:3)\nCaused by: java.lang.RuntimeException: no\n\tat X": "Exception in thread \"main\" java.net.ConnectException: Connection refused",
		"  only an error of code": "only an error of code",
	} {
		var c complaint
		eachLine(strings.NewReader(text), func(line string, _ bool) { c.hear(line) })
		if c.text() != want {
			t.Errorf("%q: got %q, want %q", text, c.text(), want)
		}
	}
}

// Runs that share their events are played one after another.
func TestProveParallel(t *testing.T) {
	for args, want := range map[string]int{
		"--event|x|--|c":                  1,
		"--event|x|--parallel=7|--|c":     7,
		"--event|x {run}|--|c":            64,
		"--event|x|--before|y {run}|--|c": 64,
		"--event|x|--|c|{run}":            64,
		"--|c":                            64,
	} {
		c := newProve()
		var p prover
		target := prove.Target{Server: "a:1", Events: 1, Every: 1, Within: 1, Quiet: 1, Stop: 1, Places: 1}
		must(t, c.ParseFlags(strings.Split(args, "|")))
		p.args = c.Flags().Args()
		p.event, _ = c.Flags().GetString("event")
		p.before, _ = c.Flags().GetString("before")
		target.Parallel, _ = c.Flags().GetInt("parallel")
		if err := p.check(c, &target, "", []string{"cut"}, nil); err != nil || target.Parallel != want {
			t.Errorf("%s: %d, %v, want %d", args, target.Parallel, err, want)
		}
	}
}

func TestProveDefaults(t *testing.T) {
	for name, want := range map[string]string{
		"prove": "events=12 every=100ms parallel=64 places=24 quiet=2s stop=5s within=30s ", "measure": `answer={"ok":true} most=15 parallel=32 stop=5s within=30s `,
	} {
		got := ""
		find(t, name).LocalFlags().VisitAll(func(f *pflag.Flag) {
			if v := f.DefValue; v != "" && v != "false" && v != "[]" && f.Name != "ways" {
				got += f.Name + "=" + v + " "
			}
		})
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

func TestProveBar(t *testing.T) {
	t.Setenv("COLUMNS", "50")
	var out bytes.Buffer
	b := &bar{out: &out, terminal: true}
	b.show(0, 4)
	b.show(1, 4)
	b.print("lost: something")
	b.show(4, 4)
	b.clear()
	const line = "\r\x1b[K"
	want := line + "0 of 4 scenarios, 0 findings   0 % [             ]" + line + "1 of 4 scenarios, 0 findings  25 % [===          ]" +
		line + "lost: something\n" + line + "1 of 4 scenarios, 0 findings  25 % [===          ]" +
		line + "4 of 4 scenarios, 1 finding 100 % [==============]" + line
	if out.String() != want {
		t.Errorf("got\n%q, want\n%q", out.String(), want)
	}
	var nothing bytes.Buffer
	plain := newBar(&nothing)
	plain.show(1, 2)
	plain.print("lost: something")
	plain.clear()
	if nothing.String() != "lost: something\n" {
		t.Errorf("without a terminal %q", nothing.String())
	}
}

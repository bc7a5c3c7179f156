//go:build unix

package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestRunPassesSignalsOn(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(s.String(), func(t *testing.T) {
			p := started(t, append([]string{"run", "--backoff", quick}, asChild(t, "trap", "42")...)...)
			p.signal(t, s)
			if rest, code := p.end(t); rest != "got "+s.String()+"\n" || code != 42 || p.err.Len() > 0 {
				t.Errorf("stdout %q, exit code %d, stderr %q: want the signal, the command's 42, and no retry", rest, code, p.err.String())
			}
		})
	}
}

func TestRunRetriesAfterASignalThatEndsNothing(t *testing.T) {
	p := command(t, append([]string{"run", "-q", "--limit=1", "--backoff", quick}, asChild(t, "trap", "42")...)...)
	p.start(t)
	for range 2 {
		p.line(t)
		p.signal(t, syscall.SIGUSR1)
		if got := p.line(t); got != "got "+syscall.SIGUSR1.String() {
			t.Error(got)
		}
	}
	if rest, code := p.end(t); rest != "" || code != 42 {
		t.Errorf("then %q, exit code %d", rest, code)
	}
}

// As in a pipe to head. Some commands die of SIGPIPE, some report the failed write, some have a child that dies.
func TestRunEndsWhenItsOutputHasNoReader(t *testing.T) {
	for name, test := range map[string]struct {
		args []string
		code int
		want string
	}{
		"dies":    {asChild(t, "flood"), 141, "ended by signal 13"},
		"reports": {asChild(t, "flood", "23"), 23, "exit code 23"},
		"a shell": {[]string{"--", "sh", "-c", "yes; exit 7"}, 7, "exit code 7"},
	} {
		t.Run(name, func(t *testing.T) {
			p := started(t, append([]string{"run", "--backoff=constant d=1h"}, test.args...)...)
			must(t, p.pipe.Close())
			_ = p.Wait()
			want := "retrywhen: " + test.want + ": nobody reads its output\n"
			if code := p.ProcessState.ExitCode(); code != test.code || p.err.String() != want {
				t.Errorf("exit code %d, stderr %q; want %d, %q", code, p.err.String(), test.code, want)
			}
		})
	}
}

// A broken pipe inside the command does not mean that its output has no reader.
func TestRunRetriesABrokenPipeWithin(t *testing.T) {
	_, errOut, code := result(t, "run", "--limit=1", "--backoff", quick, "--", "sh", "-c", "kill -PIPE $$")
	if want := "retrywhen: ended by signal 13; retry 1 of 1 in 1ms\nretrywhen: ended by signal 13; gave up after 2 attempts\n"; code != 141 || errOut != want {
		t.Errorf("exit code %d, stderr %q", code, errOut)
	}
}

// With --foreground the command has no group of its own. Without a terminal it still receives the signal.
func TestRunInTheForeground(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := started(t, append([]string{"run", "--foreground", "--backoff", quick}, asChild(t, "trap", "42")...)...)
		p.signal(t, s)
		if rest, code := p.end(t); rest != "got "+s.String()+"\n" || code != 42 {
			t.Errorf("%v: stdout %q, exit code %d", s, rest, code)
		}
	}
}

// A shell's loop continues after any exit code, also 130, and stops after a death of SIGINT.
func TestRunDiesByTheSignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		for name, args := range map[string][]string{
			"a command that dies by it":        asChild(t, "default"),
			"a command that exits with 128+n":  asChild(t, "trap", strconv.Itoa(128+int(s))),
			"a command that is killed instead": append([]string{"--timeout=1h"}, asChild(t, "kill")...),
		} {
			t.Run(s.String()+", "+name, func(t *testing.T) {
				p := started(t, append([]string{"run", "--backoff", quick}, args...)...)
				p.signal(t, s)
				p.diesBy(t, s)
				if p.err.Len() > 0 {
					t.Errorf("stderr %q", p.err.String())
				}
			})
		}
	}
}

// The Go runtime prints its goroutines at SIGQUIT, so run ends with an exit code instead.
func TestRunExitCodeOfAQuit(t *testing.T) {
	p := started(t, "run", "--backoff", quick, "--", "sh", "-c", "echo ready; exec sleep 3600")
	p.signal(t, syscall.SIGQUIT)
	if _, code := p.end(t); code != 128+3 || p.err.Len() > 0 {
		t.Errorf("exit code %d, want 131; stderr %q", code, p.err.String())
	}
}

// A ^C in a terminal reaches the command and run at the same time, and the command may end first.
func TestRunAnnouncesNothingAfterAnInterrupt(t *testing.T) {
	for range 10 {
		p := started(t, append([]string{"run", "--foreground", "--backoff=constant d=1h"}, asChild(t, "default")...)...)
		must(t, syscall.Kill(-p.Process.Pid, syscall.SIGINT))
		p.diesBy(t, syscall.SIGINT)
		if p.err.Len() > 0 {
			t.Fatalf("stderr %q", p.err.String())
		}
	}
}

func TestRunRetriesACommandThatWasKilled(t *testing.T) {
	p := command(t, append([]string{"run", "--limit=1", "--backoff", quick}, asChild(t, "default")...)...)
	p.start(t)
	for range 2 {
		killReady(t, p.line(t))
	}
	_, code := p.end(t)
	want := "retrywhen: ended by signal 9; retry 1 of 1 in 1ms\nretrywhen: ended by signal 9; gave up after 2 attempts\n"
	if code != 128+9 || p.err.String() != want {
		t.Errorf("exit code %d, want 137; stderr\n%swant\n%s", code, p.err.String(), want)
	}
}

func TestRunSignalReachesWhatTheCommandStarted(t *testing.T) {
	p := started(t, append([]string{"run", "--backoff", quick}, asChild(t, "parent")...)...) // from the child's child
	p.signal(t, syscall.SIGTERM)
	if rest, code := p.end(t); rest != "got "+syscall.SIGTERM.String()+"\n" || code != 9 {
		t.Errorf("stdout %q, exit code %d, want 9", rest, code)
	}
}

func TestRunInterruptEndsAWait(t *testing.T) {
	p := command(t, append([]string{"run", "--backoff=constant d=1h"}, asChild(t, "exit", "3")...)...)
	said := make(chan struct{})
	p.Stderr = &notifier{said: said, until: "in 1h0m0s\n"}
	p.start(t)
	<-said
	p.signal(t, syscall.SIGINT)
	p.diesBy(t, syscall.SIGINT)
}

func TestRunTimeout(t *testing.T) {
	for name, test := range map[string]struct {
		args   []string
		stderr string
	}{
		"flag": {
			[]string{"--limit=1", "--timeout=1ms", "--backoff", quick},
			"retrywhen: took longer than 1ms; retry 1 of 1 in 1ms\nretrywhen: took longer than 1ms; gave up after 2 attempts\n",
		},
		"policy": {[]string{"-q", "--backoff", quick + " limit=0 attempttimeout=1ms"}, ""},
	} {
		_, stderr, code := result(t, slices.Concat([]string{"run"}, test.args, asChild(t, "default"))...)
		if stderr != test.stderr || code != 124 {
			t.Errorf("%s: exit code %d, stderr\n%swant 124,\n%s", name, code, stderr, test.stderr)
		}
	}
}

// The process receives SIGTERM, also if it is stopped, and not SIGKILL before killAfter is over.
func TestRunTimeoutEndsSoftly(t *testing.T) {
	for name, stopped := range map[string]bool{"runs": false, "is stopped": true} {
		t.Run(name, func(t *testing.T) { timeoutEndsSoftly(t, stopped) })
	}
}

func timeoutEndsSoftly(t *testing.T, stopped bool) {
	args := asChild(t, "trap", "0")[1:]
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	out, err := cmd.StdoutPipe()
	must(t, err)
	var c child
	must(t, c.start(cmd, false))
	in := bufio.NewReader(out)
	if _, err := in.ReadString('\n'); err != nil { // it is ready
		t.Fatal(err)
	}
	if stopped {
		must(t, cmd.Process.Signal(syscall.SIGSTOP))
		_, err := syscall.Wait4(cmd.Process.Pid, nil, syscall.WUNTRACED, nil)
		must(t, err)
	}
	tooLong := c.limit(1, time.Hour)
	got, _ := in.ReadString('\n')
	if err := cmd.Wait(); err != nil || got != "got terminated\n" || !tooLong() {
		t.Errorf("%v, stdout %q, want the signal", err, got)
	}
}

func TestRunStartsNothingAfterASignal(t *testing.T) {
	c := child{signal: os.Interrupt}
	if err := c.start(exec.CommandContext(t.Context(), "true"), false); err != errEnded || c.process != nil {
		t.Errorf("%v, a process: %v", err, c.process)
	}
}

// The file of --stdout last has no name, so nothing remains of it if run is killed or its reader leaves.
func TestRunLeavesNoFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if out, errOut, code := result(t, "run", "--stdout=last", "--", "sh", "-c", `ls -A "$TMPDIR"; echo done`); out != "done\n" || code != 0 {
		t.Errorf("stdout %q, stderr %q, exit code %d", out, errOut, code)
	}
}

func TestRunNamesAMissingInterpreter(t *testing.T) {
	folder := t.TempDir()
	must(t, os.WriteFile(folder+"/script", []byte("#!/no/such/interpreter\n"), 0o700)) //nolint:gosec // it is to be run
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	_, errOut, code := result(t, "run", "--", "script")
	if errOut != "retrywhen: script: its interpreter, in the first line, does not exist\n" || code != 127 {
		t.Errorf("stderr %q, exit code %d", errOut, code)
	}
}

// The limit of an attempt that has ended does not reach the next one.
func TestRunTimeoutOfAnEndedAttempt(t *testing.T) {
	ended := exec.CommandContext(t.Context(), "true")
	must(t, ended.Run())
	synctest.Test(t, func(t *testing.T) {
		c := child{process: ended.Process}
		before, after := c.limit(time.Second, time.Second), c.limit(time.Minute, time.Second)
		if before() {
			t.Error("the limit is reached at once")
		}
		time.Sleep(59 * time.Second)
		if before() || after() {
			t.Error("a limit that was stopped is reached, or a minute after 59s")
		}
		late := c.limit(time.Second, time.Hour)
		time.Sleep(time.Second)
		synctest.Wait()
		if !late() {
			t.Error("the limit is not reached")
		}
	})
}

// The sum of --timeout and --kill-after is more than the longest duration.
func TestRunTimeoutOfCenturies(t *testing.T) {
	out, errOut, code := result(t, "run", "--limit=0", "--timeout=2562047h47m16s", "--", "sh", "-c", "sleep 0.05; echo done")
	if out != "done\n" || errOut != "" || code != 0 {
		t.Errorf("stdout %q, stderr %q, exit code %d", out, errOut, code)
	}
}

func TestRunKillsWhatDoesNotEnd(t *testing.T) {
	p := command(t, append([]string{"run", "-q", "--limit=0", "--timeout=10ms", "--kill-after=10ms"}, asChild(t, "stubborn")...)...)
	p.start(t)
	if _, code := p.end(t); code != 124 {
		t.Errorf("exit code %d, want 124", code)
	}
}

// A command that does not end is killed after --kill-after, also if the signal came from outside.
func TestRunKillsWhatDoesNotEndAtASignal(t *testing.T) {
	p := started(t, append([]string{"run", "--kill-after=10ms", "--backoff", quick}, asChild(t, "stubborn")...)...)
	p.signal(t, syscall.SIGTERM)
	p.diesBy(t, syscall.SIGTERM)
}

// A process that is stopped receives no other signal until it goes on.
func TestRunEndsACommandThatIsStopped(t *testing.T) {
	p := command(t, append([]string{"run", "--backoff", quick}, asChild(t, "default")...)...)
	p.start(t)
	var pid int
	_, err := fmt.Sscanf(p.line(t), "ready %d", &pid)
	must(t, err)
	must(t, syscall.Kill(pid, syscall.SIGSTOP))
	p.signal(t, syscall.SIGTERM)
	p.diesBy(t, syscall.SIGTERM)
}

// An interrupt ends a long simulation with the result so far.
func TestSimInterrupt(t *testing.T) {
	p := started(t, "sim", "occ", "--runs=1000000", "--json") // computing
	p.signal(t, syscall.SIGINT)
	if out := p.diesBy(t, syscall.SIGINT); !strings.HasPrefix(out, "{") || !strings.Contains(p.err.String(), "the result so far") {
		t.Errorf("stdout %q, stderr %q", out, p.err.String())
	}
}

// started starts the command, and waits for the first line of its stdout.
func started(t *testing.T, args ...string) *proc {
	t.Helper()
	p := command(t, args...)
	p.start(t)
	p.line(t)
	return p
}

func (p *proc) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	must(t, p.Process.Signal(s))
}

// diesBy waits for the process, which must die by the signal, and returns the rest of stdout.
func (p *proc) diesBy(t *testing.T, s syscall.Signal) string {
	t.Helper()
	out, code := p.end(t)
	if status := p.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != s {
		t.Errorf("exit code %d, %v, want it to die by the signal %q", code, p.ProcessState, s)
	}
	return out
}

// notifier closes said when the text has been written to it.
type notifier struct {
	until string
	said  chan struct{}
	text  strings.Builder
}

func (n *notifier) Write(b []byte) (int, error) {
	before := strings.Contains(n.text.String(), n.until)
	n.text.Write(b)
	if !before && strings.Contains(n.text.String(), n.until) {
		close(n.said)
	}
	return len(b), nil
}

// A failure of run itself, which is neither the command's nor wrong usage, has its own exit code, as with timeout(1).
func TestRunThatCannotStartAProcess(t *testing.T) {
	shell, err := exec.LookPath("sh")
	if err != nil {
		t.Skip("no sh")
	}
	self, err := os.Executable()
	must(t, err)
	c := exec.CommandContext(t.Context(), shell, "-c", `ulimit -n 6; exec "$0" run --limit=0 -- "$0"`, self)
	c.Env = append(os.Environ(), "RETRYWHEN_TEST_MAIN=1")
	out, err := c.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != codeOwn || !strings.Contains(string(out), "too many open files") {
		t.Errorf("%v: %s, want exit code %d", err, out, codeOwn)
	}
}

func killReady(t *testing.T, line string) {
	t.Helper()
	var pid int
	if _, err := fmt.Sscanf(line, "ready %d", &pid); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	must(t, syscall.Kill(pid, syscall.SIGKILL))
}

//go:build unix

package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
)

func TestRunPassesSignalsOn(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT} {
		t.Run(s.String(), func(t *testing.T) {
			p := command(t, append([]string{"run", "--backoff", quick}, asChild(t, "trap", "42")...)...)
			p.start(t)
			p.line(t)
			if err := p.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
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
		if err := p.Process.Signal(syscall.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		if got := p.line(t); got != "got "+syscall.SIGUSR1.String() {
			t.Error(got)
		}
	}
	if rest, code := p.end(t); rest != "" || code != 42 {
		t.Errorf("then %q, exit code %d", rest, code)
	}
}

func TestRunEndsWhenNobodyReads(t *testing.T) {
	p := command(t, append([]string{"run", "--backoff=constant d=1h"}, asChild(t, "flood")...)...)
	out, err := p.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	_ = p.Wait()
	if code, want := p.ProcessState.ExitCode(), "retrywhen: ended by signal 13: nobody reads its output any more\n"; code != 141 || p.err.String() != want {
		t.Errorf("exit code %d, stderr %q; want 141, %q", code, p.err.String(), want)
	}
}

// A pipe that breaks inside the command says nothing of its output.
func TestRunRetriesABrokenPipeWithin(t *testing.T) {
	_, errOut, code := result(t, "run", "--limit=1", "--backoff", quick, "--", "sh", "-c", "kill -PIPE $$")
	if want := "retrywhen: ended by signal 13; retry 1 of 1 in 1ms\nretrywhen: ended by signal 13; gave up after 2 attempts\n"; code != 141 || errOut != want {
		t.Errorf("exit code %d, stderr %q", code, errOut)
	}
}

// In the foreground the command has no group of its own; without a terminal it still gets the signal.
func TestRunInTheForeground(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p := command(t, append([]string{"run", "--foreground", "--backoff", quick}, asChild(t, "trap", "42")...)...)
		p.start(t)
		p.line(t)
		if err := p.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		if rest, code := p.end(t); rest != "got "+s.String()+"\n" || code != 42 {
			t.Errorf("%v: stdout %q, exit code %d", s, rest, code)
		}
	}
}

func TestRunEndedBySignal(t *testing.T) {
	p := command(t, append([]string{"run", "--backoff", quick}, asChild(t, "default")...)...)
	p.start(t)
	p.line(t)
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if _, code := p.end(t); code != 128+15 {
		t.Errorf("exit code %d, want 143", code)
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
	p := command(t, append([]string{"run", "--backoff", quick}, asChild(t, "parent")...)...)
	p.start(t)
	p.line(t) // of the child's child
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
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
	if err := p.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if _, code := p.end(t); code != 130 {
		t.Errorf("exit code %d, want 130", code)
	}
}

func TestRunTimeout(t *testing.T) {
	t.Parallel()
	p := command(t, append([]string{"run", "--limit=1", "--timeout=2s", "--backoff", quick}, asChild(t, "trap", "0")...)...)
	p.start(t)
	out, code := p.end(t)
	if strings.Count(out, "got terminated\n") != 2 || code != 124 {
		t.Errorf("stdout %q, exit code %d, want SIGTERM twice and 124", out, code)
	}
	want := "retrywhen: took longer than 2s; retry 1 of 1 in 1ms\nretrywhen: took longer than 2s; gave up after 2 attempts\n"
	if p.err.String() != want {
		t.Errorf("stderr\n%swant\n%s", p.err.String(), want)
	}
}

// The sum of the two is past the longest duration.
func TestRunTimeoutOfCenturies(t *testing.T) {
	out, errOut, code := result(t, "run", "--limit=0", "--timeout=2562047h47m16s", "--", "sh", "-c", "sleep 0.05; echo done")
	if out != "done\n" || errOut != "" || code != 0 {
		t.Errorf("stdout %q, stderr %q, exit code %d", out, errOut, code)
	}
}

func TestRunTimeoutOfThePolicyText(t *testing.T) {
	t.Parallel()
	p := command(t, append([]string{"run", "-q", "--backoff", quick + " limit=0 attempttimeout=2s"}, asChild(t, "trap", "0")...)...)
	p.start(t)
	if out, code := p.end(t); !strings.HasSuffix(out, "got terminated\n") || code != 124 {
		t.Errorf("stdout %q, exit code %d, want SIGTERM and 124", out, code)
	}
}

func TestRunKillsWhatDoesNotEnd(t *testing.T) {
	p := command(t, append([]string{"run", "-q", "--limit=0", "--timeout=10ms", "--kill-after=10ms"}, asChild(t, "stubborn")...)...)
	p.start(t)
	if _, code := p.end(t); code != 124 {
		t.Errorf("exit code %d, want 124", code)
	}
}

// notifier closes said once the text has been written to it.
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

func killReady(t *testing.T, line string) {
	t.Helper()
	var pid int
	if _, err := fmt.Sscanf(line, "ready %d", &pid); err != nil {
		t.Fatalf("%q: %v", line, err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

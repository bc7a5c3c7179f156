package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// ^Z reaches the command and stops run. When run goes on, so does the command.
func TestRunStops(t *testing.T) {
	p := started(t, append([]string{"run", "-q", "--limit=0"}, asChild(t, "stops")...)...)
	p.signal(t, syscall.SIGTSTP)
	if got := p.line(t); got != "got "+syscall.SIGTSTP.String() {
		t.Error(got)
	}
	var info unix.Siginfo
	must(t, unix.Waitid(unix.P_PID, p.Process.Pid, &info, unix.WSTOPPED, nil))
	p.signal(t, syscall.SIGCONT)
	if got := p.line(t); got != "got "+syscall.SIGCONT.String() {
		t.Error(got)
	}
	if rest, code := p.end(t); rest != "" || code != 42 || p.err.Len() > 0 {
		t.Errorf("stdout %q, exit code %d, stderr %q", rest, code, p.err.String())
	}
}

// A ^Z is no news, whether run has forwarded it or the terminal has sent it to the command before run sees it. Another
// stop is.
func TestRunSaysNothingOfAStopByTheUser(t *testing.T) {
	args := asChild(t, "default")[1:]
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	out, err := cmd.StdoutPipe()
	must(t, err)
	c := child{}
	must(t, c.start(cmd, false))
	defer func() { _, _ = cmd.Process.Kill(), cmd.Wait() }()
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil { // it is ready
		t.Fatal(err)
	}
	wait := func() {
		t.Helper()
		var info unix.Siginfo
		must(t, unix.Waitid(unix.P_PID, cmd.Process.Pid, &info, unix.WSTOPPED|unix.WNOWAIT, nil))
	}
	c.pass(syscall.SIGTSTP)
	wait()
	c.pass(syscall.SIGWINCH) // before the notice of the stop is read
	if c.noticed() {
		t.Error("a forwarded stop is reported")
	}
	c.pass(syscall.SIGCONT)
	must(t, cmd.Process.Signal(syscall.SIGTSTP))
	wait()
	if c.noticed() {
		t.Error("a ^Z is reported")
	}
	c.pass(syscall.SIGCONT)
	must(t, cmd.Process.Signal(syscall.SIGSTOP))
	wait()
	if !c.noticed() || c.noticed() {
		t.Error("want a stop from elsewhere reported, once")
	}
}

// A command in a group of its own that reads from the terminal is stopped by the kernel.
func TestRunSaysThatTheCommandWaitsForTheTerminal(t *testing.T) {
	p := command(t, "run", "--limit=0", "--", "sh", "-c", "echo ready; kill -TTIN $$; exit 3")
	said := make(chan struct{})
	errOut := &notifier{said: said, until: "\n"}
	p.Stderr = errOut
	p.start(t)
	p.line(t)
	<-said
	p.signal(t, syscall.SIGCONT)
	_, code := p.end(t)
	want := "retrywhen: the command was stopped; if it waits for the terminal, use --foreground\nretrywhen: exit code 3\n"
	if got := errOut.text.String(); got != want || code != 3 {
		t.Errorf("exit code %d, stderr\n%swant\n%s", code, got, want)
	}
}

// A terminal sends ^C to run and to the command, so run does not send it again.
func TestRunDoesNotRepeatWhatTheTerminalSent(t *testing.T) {
	for key, s := range map[string]syscall.Signal{"\x03": syscall.SIGINT, "\x1c": syscall.SIGQUIT} {
		terminal, tty := openTerminal(t)
		p := command(t, append([]string{"run"}, asChild(t, "until", syscall.SIGUSR1.String())...)...)
		p.Stdin = tty
		p.SysProcAttr.Setctty = true // stdin is the terminal
		p.start(t)
		p.line(t)
		_, err := terminal.WriteString(key)
		must(t, err)
		if got := p.line(t); got != "got "+s.String() {
			t.Errorf("%q, want %v", got, s)
		}
		p.signal(t, syscall.SIGUSR1)
		if rest, code := p.end(t); rest != "got "+syscall.SIGUSR1.String()+"\n" || code != 42 {
			t.Errorf("%v: then %q, exit code %d, want the next signal and 42", s, rest, code)
		}
	}
}

// openTerminal returns the two ends of a new terminal.
func openTerminal(t *testing.T) (terminal, tty *os.File) {
	t.Helper()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skip("no terminals here:", err)
	}
	t.Cleanup(func() { _ = terminal.Close() })
	number, err := unix.IoctlGetInt(int(terminal.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(terminal.Fd()), unix.TIOCSPTLCK, 0)
	}
	must(t, err)
	tty, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	must(t, err)
	t.Cleanup(func() { _ = tty.Close() })
	return terminal, tty
}

// asProcess1 starts the command as process 1, which it may be in a container.
func asProcess1(t *testing.T, args ...string) (p *proc, out io.Reader) {
	t.Helper()
	p = command(t, args...)
	p.SysProcAttr.Cloneflags = syscall.CLONE_NEWPID
	if os.Getuid() != 0 {
		p.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
	}
	out, err := p.StdoutPipe()
	must(t, err)
	if err := p.Start(); errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOSPC) {
		t.Skip("no process namespaces here:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	return p, out
}

// Processes whose parent has ended become children of process 1. The command waits until they are gone: a zombie is
// not. Their ends are not taken for the command's.
func TestRunAsProcess1RemovesOrphans(t *testing.T) {
	const orphans = `for i in 1 2 3; do p=$(true >/dev/null & echo $!); while kill -0 $p 2>/dev/null; do :; done; done; exit 7`
	p, out := asProcess1(t, "run", "-q", "--limit=20", "--backoff=constant d=0s", "--", "sh", "-c", orphans)
	text, _ := io.ReadAll(out)
	if err := p.Wait(); p.ProcessState.ExitCode() != 7 {
		t.Errorf("%v, want exit code 7; stdout %q, stderr %q", err, text, p.err.String())
	}
}

// No signal of its own ends process 1.
func TestRunAsProcess1(t *testing.T) {
	p, out := asProcess1(t, append([]string{"run", "--backoff", quick}, asChild(t, "default")...)...)
	ready := make([]byte, len("ready"))
	if _, err := out.Read(ready); err != nil || !strings.HasPrefix("ready", string(ready)) {
		t.Fatalf("%q, %v", ready, err)
	}
	p.signal(t, syscall.SIGTERM)
	if err := p.Wait(); p.ProcessState.ExitCode() != 143 {
		t.Errorf("%v, want exit code 143; stderr %q", err, p.err.String())
	}
}

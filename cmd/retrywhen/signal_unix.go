//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// passedOn are the signals that the command gets too.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// softly is the signal that a process can handle before it ends.
const softly = syscall.SIGTERM

// endsRun reports whether nothing is to be retried after the signal.
func endsRun(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// ownGroup makes the command the leader of a process group of its own, so that signals reach what it starts, unless it
// reads from a terminal: only the group in its foreground may, and the terminal sends its signals to the command
// itself.
func ownGroup(cmd *exec.Cmd) bool {
	if f, ok := cmd.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return false
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return true
}

// sendSignal sends the signal to the process or its group. What the terminal has sent to the whole foreground group is
// not sent again.
func sendSignal(p *os.Process, s os.Signal, group bool) {
	if group {
		if number, ok := s.(syscall.Signal); ok && syscall.Kill(-p.Pid, number) == nil {
			return
		}
	} else if (s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGWINCH) && inForeground() {
		return
	}
	_ = p.Signal(s)
}

// inForeground reports whether our process group is the one that the terminal, if there is one, sends its signals to.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer func() { _ = tty.Close() }()
	foreground, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && foreground == unix.Getpgrp()
}

func signalNumber(s os.Signal) int {
	if number, ok := s.(syscall.Signal); ok {
		return int(number)
	}
	return 0
}

// endedBy returns the number of the signal that ended the process.
func endedBy(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return int(status.Signal())
	}
	return 0
}

// die ends this process by the signal, so that whoever started it sees that, as a shell with a loop does. It returns
// after SIGQUIT, at which the Go runtime would print its goroutines instead.
func die(s os.Signal) {
	number, ok := s.(syscall.Signal)
	if !ok || number == syscall.SIGQUIT {
		return
	}
	signal.Reset(s)
	if syscall.Kill(os.Getpid(), number) == nil {
		time.Sleep(time.Second) // it need not be delivered at once
	}
}

// unread reports whether what is written to w has no reader any more.
func unread(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	poll := []unix.PollFd{{Fd: int32(f.Fd()), Events: unix.POLLOUT}}
	_, err := unix.Poll(poll, 0)
	return err == nil && poll[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
}

//go:build unix

package main

import (
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// passedOn are the signals that the command gets too.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
}

// softly is the signal that asks a process to end.
const softly = syscall.SIGTERM

// endsAll reports whether nothing is to be retried after the signal.
func endsAll(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// ownGroup has the command lead a process group of its own, so that signals reach what it starts, unless it reads from
// a terminal: only the group in its foreground may, and the terminal's own signals reach the command without us.
func ownGroup(cmd *exec.Cmd) bool {
	if f, ok := cmd.Stdin.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return false
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return true
}

// sendSignal sends the signal to the process or its group. What the terminal has sent to the whole foreground group is not
// sent again.
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

// brokenPipe is the signal that ends who writes where nobody reads.
const brokenPipe = int(syscall.SIGPIPE)

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

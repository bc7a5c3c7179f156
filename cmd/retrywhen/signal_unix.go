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
)

// passedOn are the signals that are sent to the command.
var passedOn = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH,
	syscall.SIGTSTP, syscall.SIGCONT,
}

// isStop reports whether the signal is that of ^Z, which stops this process too.
func isStop(s os.Signal) bool { return s == syscall.SIGTSTP }

// goesOn reports whether the signal lets a stopped process go on.
func goesOn(s os.Signal) bool { return s == syscall.SIGCONT }

// stopSelf stops this process until it receives SIGCONT.
func stopSelf() { _ = syscall.Kill(os.Getpid(), syscall.SIGSTOP) }

// resume lets the process go on if it is stopped.
func resume(p *os.Process, group bool) { sendSignal(p, syscall.SIGCONT, group) }

// isChildNotice reports whether the signal says that the command has ended, stopped or gone on.
func isChildNotice(s os.Signal) bool { return s == syscall.SIGCHLD }

// softly is the signal at the attempt timeout: the process can handle it.
const softly = syscall.SIGTERM

// endsRun reports whether there is no retry after the signal.
func endsRun(s os.Signal) bool {
	return s == syscall.SIGINT || s == syscall.SIGTERM || s == syscall.SIGHUP || s == syscall.SIGQUIT
}

// ownGroup makes the command the leader of its own process group, so that signals reach the processes that it starts.
// It does not if the command reads from a terminal, because only the terminal's foreground group may. The terminal then
// sends its signals to the command.
func ownGroup(cmd *exec.Cmd) bool {
	if isTerminal(cmd.Stdin) {
		return false
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return true
}

// sendSignal sends the signal to the process or its group. It does not repeat a signal that the terminal has sent to
// the whole foreground group.
func sendSignal(p *os.Process, s os.Signal, group bool) {
	if group {
		if number, ok := s.(syscall.Signal); ok && syscall.Kill(-p.Pid, number) == nil {
			return
		}
	} else if (s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGWINCH || s == syscall.SIGTSTP) && inForeground() {
		return
	}
	_ = p.Signal(s)
}

// inForeground reports whether this process is in the foreground group of a terminal.
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

// die ends this process by the signal, so that the process that started it sees that: a shell then ends its loop. die
// returns for SIGQUIT, because the Go runtime would print its goroutines instead, and in process 1, which no signal of
// its own ends.
func die(s os.Signal) {
	number, ok := s.(syscall.Signal)
	if !ok || number == syscall.SIGQUIT || os.Getpid() == 1 {
		return
	}
	signal.Reset(s)
	if syscall.Kill(os.Getpid(), number) == nil {
		time.Sleep(time.Second) // the signal may be delivered later
	}
}

// ready reports whether a pipe has something to read, and whether its writers are gone.
func ready(f *os.File) (some, over bool) {
	got := polled(f, unix.POLLIN)
	return got&unix.POLLIN != 0, got&unix.POLLHUP != 0
}

// unread reports whether w is a pipe without a reader.
func unread(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && polled(f, unix.POLLOUT)&(unix.POLLERR|unix.POLLHUP) != 0
}

// polled returns what poll(2) says of a file at once.
func polled(f *os.File, events int16) (got int16) {
	conn, err := f.SyscallConn() // Fd would change the mode under a read
	if err != nil {
		return 0
	}
	_ = conn.Control(func(fd uintptr) {
		poll := []unix.PollFd{{Fd: int32(fd), Events: events}}
		if _, err := unix.Poll(poll, 0); err == nil {
			got = poll[0].Revents
		}
	})
	return got
}

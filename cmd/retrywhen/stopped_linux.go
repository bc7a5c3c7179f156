package main

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// noticed are the signals about the command that are not sent to it.
var noticed = []os.Signal{syscall.SIGCHLD}

// hasStopped reports, once for each time, whether the child with that number has been stopped. It leaves the end of the
// child to Wait.
func hasStopped(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0
}

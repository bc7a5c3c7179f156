package main

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// noticed are the signals about the command that are not sent to it.
var noticed = []os.Signal{syscall.SIGCHLD}

// hasStopped reports, once for each time, whether the child with that number has been stopped, other than by ^Z. It
// leaves the end of the child to Wait.
func hasStopped(pid int) bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG, nil)
	return err == nil && info.Signo != 0 && field(&info, 2) != int(syscall.SIGTSTP)
}

// reap removes the processes that have ended and whose parent this process has become, as process 1 in a container
// does. It leaves own to Wait. While own is the first that has ended it can see no other, so it is called again after
// Wait.
func reap(own int) {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
			return
		}
		pid := field(&info, 0)
		if pid == 0 || pid == own {
			return
		}
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
}

// field returns a field of the union, which is aligned as a pointer is: 0 is the process number, 2 the signal. Package
// unix does not have them.
func field(info *unix.Siginfo, n uintptr) int {
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), 8+unsafe.Sizeof(uintptr(0))+4*n)))
}

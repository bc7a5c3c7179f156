//go:build unix

package embedded_test

import (
	"os"
	"syscall"
)

// pause stops a process until resume, and reports whether this system can.
func pause(p *os.Process) bool { return p.Signal(syscall.SIGSTOP) == nil }

func resume(p *os.Process) { _ = p.Signal(syscall.SIGCONT) }

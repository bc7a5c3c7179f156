//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownSession starts the process without a terminal.
func ownSession(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

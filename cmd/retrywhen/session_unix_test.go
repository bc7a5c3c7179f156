//go:build unix

package main

import (
	"os/exec"
	"syscall"
)

// ownSession gives the process no terminal, wherever the tests run.
func ownSession(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

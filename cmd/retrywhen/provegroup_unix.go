//go:build unix

package main

import (
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// group is a process and all that it has started, unless that has left its process group.
type group struct{ id int }

func startGroup(cmd *exec.Cmd) (*group, error) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &group{cmd.Process.Pid}, nil
}

// inShell returns the command that runs a text.
func inShell(text string) *exec.Cmd { return exec.Command("sh", "-c", text) }

// terminate asks all processes to end.
func (g *group) terminate() { _ = syscall.Kill(-g.id, softly) }

func (g *group) kill() { _ = syscall.Kill(-g.id, syscall.SIGKILL) }

// end ends what the group's first process has left, and waits for it.
func (g *group) end(stop time.Duration) {
	if g.gone() {
		return
	}
	g.terminate()
	killed := false
	for start := time.Now(); !g.gone() && time.Since(start) < stop+outputGrace; time.Sleep(2 * time.Millisecond) {
		if !killed && time.Since(start) > stop {
			killed = true
			g.kill()
		}
	}
}

// gone reports whether no process of the group runs.
func (g *group) gone() bool {
	err := syscall.Kill(-g.id, 0)
	return errors.Is(err, syscall.ESRCH) || errors.Is(err, syscall.EPERM) || allZombies(g.id)
}

func (g *group) release() {}

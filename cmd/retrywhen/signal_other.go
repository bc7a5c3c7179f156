//go:build !unix

package main

import (
	"io"
	"os"
	"os/exec"
)

// passedOn are the signals that end the run; the console sends them to the command as well.
var passedOn = []os.Signal{os.Interrupt}

// softly ends a process at once: it has no signal to handle.
var softly = os.Kill

func endsRun(os.Signal) bool { return true }

func ownGroup(*exec.Cmd) bool { return false }

func sendSignal(p *os.Process, s os.Signal, _ bool) {
	if s == os.Kill {
		_ = p.Kill()
	}
}

func signalNumber(os.Signal) int { return 2 }

func endedBy(*os.ProcessState) int { return 0 }

// die returns: no process can end by a signal.
func die(os.Signal) {}

func unread(io.Writer) bool { return false }

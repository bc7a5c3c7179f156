//go:build !unix

package main

import (
	"io"
	"os"
	"os/exec"
)

// passedOn are the signals that end the run. The console also sends them to the command.
var passedOn = []os.Signal{os.Interrupt}

// softly is the signal at the attempt timeout: a process here cannot handle any.
var softly = os.Kill

func endsRun(os.Signal) bool { return true }

func isStop(os.Signal) bool { return false }

func goesOn(os.Signal) bool { return false }

func stopSelf() {}

func resume(*os.Process, bool) {}

func isChildNotice(os.Signal) bool { return false }

func ownGroup(*exec.Cmd) bool { return false }

func sendSignal(p *os.Process, s os.Signal, _ bool) {
	if s == os.Kill {
		_ = p.Kill()
	}
}

func signalNumber(os.Signal) int { return 2 }

func endedBy(*os.ProcessState) int { return 0 }

// die returns, because a process cannot die of a signal here.
func die(os.Signal) {}

// ready knows nothing here: a read shows the end.
func ready(*os.File) (some, over bool) { return false, false }

func unread(io.Writer) bool { return false }

package main

import (
	"fmt"
	"os"
)

// exitCode is the exit code after an error that has been printed already.
type exitCode int

func (c exitCode) Error() string { return fmt.Sprintf("exit code %d", int(c)) }

// diedBy is the signal by which the process ends.
type diedBy struct{ signal os.Signal }

func (d diedBy) Error() string { return "ended by signal " + d.signal.String() }

// ownFailure is an error of run that is neither the command's nor wrong usage.
type ownFailure struct{ error }

func (f ownFailure) Unwrap() error { return f.error }

// Exit codes of run that are not the command's own.
const (
	codeTimeout       = 124 // as timeout(1): the last attempt took longer than --timeout
	codeOwn           = 125 // as timeout(1): run itself failed
	codeNotExecutable = 126 // as sh: the command was found but cannot be executed
	codeNotFound      = 127 // as sh
	codeSignal        = 128 // plus the signal's number, as sh
)

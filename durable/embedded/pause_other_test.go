//go:build !unix

package embedded_test

import "os"

// pause reports that this system cannot stop a process.
func pause(*os.Process) bool { return false }

func resume(*os.Process) {}

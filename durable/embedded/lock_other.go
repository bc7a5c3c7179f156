//go:build !windows && (!unix || solaris || aix)

package embedded

import (
	"errors"
	"os"
	"runtime"
)

// lock fails: this system has no lock that ends with the process.
func lock(*os.File) error {
	return errors.New("a folder cannot be locked on " + runtime.GOOS + ", want a server of its own")
}

func unlock(f *os.File) { _ = f.Close() }

//go:build unix && !solaris && !aix

package embedded

import (
	"errors"
	"os"
	"syscall"
)

// unlock closes the file. It unlocks it first, because a process that is being started may have it too.
func unlock(f *os.File) {
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN)
	_ = f.Close()
}

// lock locks the file until the process ends. It returns errLocked if another process has it.
func lock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

//go:build unix && !solaris && !aix

package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder keeps a second server out: two on one store would spoil it. The lock dies with the process.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("another server uses it: stop that one, or connect to it (embedded.Listen, durable.Config.URL)")
		}
		return nil, err
	}
	return f, nil
}

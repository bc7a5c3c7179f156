//go:build unix && !solaris && !aix

package embedded

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// lockFolder prevents a second server on the folder, because two would corrupt the store. The lock ends with the
// process.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, errors.New("another server uses it: stop that server, or connect to it (embedded.Listen, Server.URL)")
		}
		return nil, err
	}
	return f, nil
}

package embedded

import (
	"errors"
	"os"
	"path/filepath"
)

var errLocked = errors.New("another server uses it: stop that server, or connect to it (embedded.Listen, Server.URL)")

// lockFolder prevents a second server on the folder, because two would corrupt the store. The lock ends with the
// process, or with unlock.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

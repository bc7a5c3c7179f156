//go:build !unix || solaris || aix

package embedded

import (
	"os"
	"path/filepath"
)

// lockFolder only marks the folder: there is no lock here that dies with the process.
func lockFolder(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
}

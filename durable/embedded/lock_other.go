//go:build !unix || solaris || aix

package embedded

import (
	"os"
	"path/filepath"
)

// lockFolder only creates the lock file. This system has no lock that ends with the process.
func lockFolder(dir string) (*os.File, error) {
	return os.OpenFile(filepath.Join(dir, "lock"), os.O_CREATE|os.O_RDWR, 0o600)
}

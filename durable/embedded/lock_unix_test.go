//go:build unix && !solaris && !aix

package embedded

import (
	"errors"
	"syscall"
	"testing"
)

// A process that is being started has the files of this one for a moment. It must not keep the lock.
func TestUnlock(t *testing.T) {
	dir := t.TempDir()
	f, err := lockFolder(dir)
	if err != nil {
		t.Fatal(err)
	}
	child, err := syscall.Dup(int(f.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(child)
	if _, err := lockFolder(dir); !errors.Is(err, errLocked) {
		t.Errorf("while it is locked: %v", err)
	}
	unlock(f)
	again, err := lockFolder(dir)
	if err != nil {
		t.Fatalf("when it is unlocked: %v", err)
	}
	unlock(again)
}

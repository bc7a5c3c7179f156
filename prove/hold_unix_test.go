//go:build unix

package prove

import (
	"errors"
	"net"
	"syscall"
	"testing"
)

// An address that refuses connections is nobody else's until it is released: another program there would answer.
func TestHold(t *testing.T) {
	addr, release, err := hold()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := net.Dial("tcp", addr); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("a dial: %v", err)
	}
	if _, err := net.Listen("tcp", addr); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("another server: %v", err)
	}
	release()
	l, err := net.Listen("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
}

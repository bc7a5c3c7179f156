package check_test

import (
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/retrywhen/retrywhen/examples/internal/check"
)

func TestPort(t *testing.T) {
	address := check.Port(t)
	for range 3 {
		if conn, err := net.Dial("tcp", address); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("no server: got %v, %v", conn, err)
		}
		l, err := net.Listen("tcp", address)
		check.Must(t, err)
		conn, err := net.Dial("tcp", address)
		check.Must(t, err)
		_ = conn.Close()
		_ = l.Close()
	}
	local, err := net.ResolveTCPAddr("tcp", address)
	check.Must(t, err)
	// A client takes only a free port, unlike a server that names its port.
	other, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	defer other.Close()
	if conn, err := (&net.Dialer{LocalAddr: local}).Dial("tcp", other.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("the port is free: got %v, %v", conn, err)
	}
}

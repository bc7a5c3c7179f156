package check

import (
	"net"
	"testing"
)

// Port returns an address on 127.0.0.1 that refuses connections until a server listens on it. The server may stop and
// listen again: for the duration of the test a connection to the port stays open, and so the system gives it to no
// other program that wants any free port.
func Port(t *testing.T) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	Must(t, err)
	defer l.Close()
	address = l.Addr().String()
	client, err := net.Dial("tcp", address)
	Must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	server, err := l.Accept()
	Must(t, err)
	t.Cleanup(func() { _ = server.Close() })
	return address
}

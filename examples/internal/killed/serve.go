package killed

import (
	"net/http/httptest"
	"net/rpc"
	"testing"
)

// Serve serves the methods of a fake server, as package net/rpc has them, with the prefix "Fake.", until the test ends:
// a server survives the kill of its client. It returns the address, for rpc.DialHTTP.
func Serve(t *testing.T, fake any) (address string) {
	t.Helper()
	methods := rpc.NewServer()
	if err := methods.RegisterName("Fake", fake); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(methods)
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// Package centrifuge shows faults of centrifugal/centrifuge-go v0.12.1: Close waits for the handlers with its mutex held.
//
// moveToClosed locks the client's mutex, and then waits until the handlers in its queue have returned (client.go:694).
// One that asks the client for its State meanwhile, such as OnDisconnected, waits for that mutex: neither returns. To
// mend it: take the queue under the mutex, and wait for it without.
package centrifuge

import (
	"context"
	"net"
	"syscall"
	"testing"
	"time"

	"github.com/centrifugal/centrifuge-go"
)

func TestCloseWhileAHandlerAsksForTheState(t *testing.T) {
	client := centrifuge.NewJsonClient("ws://127.0.0.1/", centrifuge.Config{
		NetDialContext: func(context.Context, string, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED },
	})
	client.OnDisconnected(func(centrifuge.DisconnectedEvent) {
		time.Sleep(100 * time.Millisecond)
		_ = client.State()
	})
	if err := client.Connect(); err == nil {
		t.Fatal("it is connected")
	}
	closed := make(chan struct{})
	go func() { client.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(5 * time.Second):
		t.Error("Close has not returned in 5s, and neither has a handler that works for 100ms and asks for the State")
	}
}

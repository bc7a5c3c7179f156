package websocket

import (
	"context"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

func TestDialContextEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dialer := websocket.Dialer{HandshakeTimeout: 45 * time.Second, NetDialContext: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			go func() { _, _ = io.Copy(io.Discard, server) }() // no answer
			return client, nil
		}}
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		_, _, err := dialer.DialContext(ctx, "ws://127.0.0.1/", nil)
		if took := time.Since(start); took > 2*time.Second {
			t.Errorf("the context was cancelled after 1s; DialContext returned after %v: %v", took, err)
		}
	})
}

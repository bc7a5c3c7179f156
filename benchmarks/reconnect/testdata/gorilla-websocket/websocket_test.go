// Package websocket shows faults of gorilla/websocket v1.5.4-0.20250319132907-e064f32e3674: DialContext does not end
// with its context during the handshake.
//
// If the server accepts the connection and does not answer the request, and the context is cancelled, DialContext
// returns after HandshakeTimeout, or never if that is 0. The context's deadline is set on the connection; its
// cancellation is not looked at (client.go:338). The clients of Slack and others cannot be stopped for 45 s. To mend
// it: stop := context.AfterFunc(ctx, func() { netConn.SetDeadline(time.Unix(1, 0)) }) after the dial, and stop() before
// the deadline is taken back.
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

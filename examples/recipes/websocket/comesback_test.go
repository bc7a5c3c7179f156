package websocket_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket/wsjson"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/websocket"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

// The recipe comes back from every break of its connection, before and in the middle of each of the server's writes.
func TestEvents_ComeBack(t *testing.T) {
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.ResetAfterItems(1))
	reconnecttest.Check(t, func() reconnecttest.Run[int] {
		return reconnecttest.Run[int]{Serve: twelveEvents, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(int)) error {
			client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
			return websocket.Events(client, "ws://127.0.0.1/", 0, 30*time.Second, policy, nil).ForEach(ctx, func(e websocket.Event) { got(e.ID) })
		}}
	})
}

// twelveEvents serves the events after the one that the client names, 100 ms apart, and then heartbeats.
func twelveEvents(ctx context.Context, l net.Listener) {
	check.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, after, err := accept(ctx, w, r)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		defer context.AfterFunc(ctx, func() { _ = conn.CloseNow() })()
		reading := conn.CloseRead(ctx)
		for n := after + 1; ; n++ {
			e := websocket.Event{ID: n, Data: fmt.Sprint("event ", n)}
			time.Sleep(100 * time.Millisecond)
			if n > 12 {
				e = websocket.Event{}
				time.Sleep(10 * time.Second)
			}
			if wsjson.Write(reading, conn, e) != nil {
				return
			}
		}
	}))
}

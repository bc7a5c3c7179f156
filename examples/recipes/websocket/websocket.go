// Package websocket continues a subscription to a feed over WebSocket after a failure. It subscribes again on each
// connection, after the last event that was delivered.
package websocket

import (
	"context"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Event is an event of the server. One without an ID is a heartbeat.
type Event struct {
	ID   int    `json:"id,omitempty"`
	Data string `json:"data,omitempty"`
}

// Events returns the events of a feed after the one with the id start. The client dials; nil is http.DefaultClient. An
// attempt fails if nothing comes within silence, not even a heartbeat, or if the server closes the connection. The
// failure is permanent if the server's code means that a retry cannot help.
func Events(client *http.Client, url string, start int, silence time.Duration, policy stream.RetryHandler) stream.Stream[Event] {
	return operators.Resume(start, func(at int) stream.Stream[Event] {
		var connection stream.Stream[Event] = func(ctx context.Context, yield func(Event) bool) error {
			conn, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client})
			if err != nil {
				return failure(err, response)
			}
			defer conn.CloseNow()
			err = wsjson.Write(ctx, conn, map[string]int{"subscribe_after": at})
			for err == nil {
				var e Event
				if err = wsjson.Read(ctx, conn, &e); err == nil && !yield(e) {
					return nil
				}
			}
			return failure(err, nil)
		}
		return connection.Timeout(silence).DropHeartbeats(func(e Event) bool { return e.ID == 0 })
	}, func(_ int, e Event) int { return e.ID }, policy)
}

// failure marks an error as permanent if a retry cannot help, by the status of the handshake or the close code.
func failure(err error, r *http.Response) error {
	code := websocket.CloseStatus(err)
	if r != nil && r.StatusCode >= 400 && r.StatusCode < 500 && r.StatusCode != http.StatusTooManyRequests ||
		code == websocket.StatusPolicyViolation || code == websocket.StatusUnsupportedData || code >= 4000 {
		return stream.Permanent(err)
	}
	return err
}

// Package websocket continues a subscription to a feed over WebSocket after a failure. It subscribes again on each
// connection, after the last event that was delivered.
package websocket

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/retryhttp"
	"github.com/retrywhen/retrywhen/stream"
)

// Event is an event of the server. One without an ID is a heartbeat.
type Event struct {
	ID   int    `json:"id,omitempty"`
	Data string `json:"data,omitempty"`
}

// Events returns the events of a feed after the one with the id start. The client dials; nil is http.DefaultClient. An
// attempt fails if nothing comes within silence, not even a heartbeat, if the server refuses the handshake, whose
// Retry-After dictates the delay, or if it closes the connection.
//
// A failure is permanent if permanent reports so for the code and reason with which the server closed, or for the
// status of a refused handshake. Codes from 3000 on, and 1008, mean what the server says: read its documents. If
// permanent is nil, 1003, 1007 and 1010 are permanent. A 401 or 404 is not, because a token ends and a service is
// deployed again.
func Events(client *http.Client, url string, start int, silence time.Duration, policy stream.RetryHandler,
	permanent func(code int, reason string) bool) stream.Stream[Event] {
	if permanent == nil {
		permanent = refused
	}
	return operators.Resume(start, func(at int) stream.Stream[Event] {
		var connection stream.Stream[Event] = func(ctx context.Context, yield func(Event) bool) error {
			conn, response, err := websocket.Dial(ctx, url, &websocket.DialOptions{HTTPClient: client})
			if err != nil && response != nil {
				err = retryhttp.NewStatusError(response)
				return marked(err, permanent(response.StatusCode, ""))
			}
			if err != nil {
				return err
			}
			defer conn.CloseNow()
			err = wsjson.Write(ctx, conn, map[string]int{"subscribe_after": at})
			for err == nil {
				var e Event
				if err = wsjson.Read(ctx, conn, &e); err == nil && !yield(e) {
					return nil
				}
			}
			var closed websocket.CloseError
			return marked(err, errors.As(err, &closed) && permanent(int(closed.Code), closed.Reason))
		}
		return connection.Timeout(silence).DropHeartbeats(func(e Event) bool { return e.ID == 0 })
	}, func(_ int, e Event) int { return e.ID }, policy)
}

// refused reports whether a close code means that the server cannot accept what this client sends.
func refused(code int, _ string) bool {
	switch websocket.StatusCode(code) {
	case websocket.StatusUnsupportedData, websocket.StatusInvalidFramePayloadData, websocket.StatusMandatoryExtension:
		return true
	}
	return false
}

// marked returns err, marked as permanent if it is.
func marked(err error, permanent bool) error {
	if permanent {
		return stream.Permanent(err)
	}
	return err
}

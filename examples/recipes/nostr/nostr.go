// Package nostr follows a relay of Nostr, which sends its history newest first and then what comes. It shows what to do
// with a source in the wrong order: collect the history, sort it, and let only what is sorted move the position.
package nostr

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/retrywhen/retrywhen/operators"
	"github.com/retrywhen/retrywhen/stream"
)

// Event is an event of a relay. A time is a whole second, which many events share.
type Event struct {
	ID        string `json:"id"`
	CreatedAt int64  `json:"created_at"`
	Content   string `json:"content"`
}

// Position is a second and the ids of its events that were taken. The zero Position is the beginning.
type Position struct {
	Second int64
	IDs    []string
}

// After returns the position after an event. An event that is older than the position does not move it: it came live,
// with a time of its author's own.
func After(at Position, e Event) Position {
	switch {
	case e.CreatedAt < at.Second:
		return at
	case e.CreatedAt > at.Second:
		return Position{e.CreatedAt, []string{e.ID}}
	}
	return Position{at.Second, append(slices.Clip(at.IDs), e.ID)}
}

// Follow returns the events of a relay after a position that a filter matches; the filter's since is Follow's. What is
// written while the connection is broken, with a time before the position, is lost: the protocol cannot ask for it.
// What is dated more than a minute ahead is dropped, because the position would be there.
//
// An attempt fails if no event comes within silence, or the history is not complete. So the policy needs
// retry.ResetAfter with less than silence.
func Follow(client *http.Client, relay string, filter map[string]any, start Position, silence time.Duration, policy stream.RetryHandler) stream.Stream[Event] {
	open := func(at Position) stream.Stream[Event] {
		var connection stream.Stream[Event] = func(ctx context.Context, yield func(Event) bool) error {
			conn, _, err := websocket.Dial(ctx, relay, &websocket.DialOptions{HTTPClient: client})
			if err != nil {
				return err
			}
			defer conn.CloseNow()
			ask := map[string]any{"since": at.Second}
			maps.Copy(ask, filter)
			if err := wsjson.Write(ctx, conn, []any{"REQ", "feed", ask}); err != nil {
				return err
			}
			return deliver(ctx, conn, at, yield)
		}
		return connection.Timeout(silence)
	}
	return operators.Resume(start, open, After, policy)
}

// deliver yields what the relay sends after a position: first the history, in order.
func deliver(ctx context.Context, conn *websocket.Conn, at Position, yield func(Event) bool) error {
	var history []Event
	for live := false; ; {
		var message []json.RawMessage
		if err := wsjson.Read(ctx, conn, &message); err != nil {
			return err
		}
		kind, event, err := parse(message)
		switch {
		case err != nil:
			return err
		case kind == "EOSE": // the history's end
			live = true
			slices.Reverse(history)
			slices.SortStableFunc(history, func(a, b Event) int { return cmp.Compare(a.CreatedAt, b.CreatedAt) })
			stream.Works(ctx)
			for _, e := range history {
				if !yield(e) {
					return nil
				}
			}
		case kind != "EVENT", event.CreatedAt > time.Now().Add(time.Minute).Unix():
		case event.CreatedAt == at.Second && slices.Contains(at.IDs, event.ID): // it was taken
		case !live:
			history = append(history, event)
		case !yield(event):
			return nil
		}
	}
}

// parse returns the kind of a message, and its event if it has one. A CLOSED is an error: the relay has ended the
// subscription.
func parse(message []json.RawMessage) (kind string, e Event, err error) {
	if len(message) == 0 {
		return "", e, fmt.Errorf("nostr: an empty message")
	}
	if err = json.Unmarshal(message[0], &kind); err != nil {
		return "", e, err
	}
	switch {
	case kind == "CLOSED":
		return kind, e, fmt.Errorf("nostr: the relay closed the subscription: %s", message[len(message)-1])
	case kind == "EVENT" && len(message) == 3:
		err = json.Unmarshal(message[2], &e)
	}
	return kind, e, err
}

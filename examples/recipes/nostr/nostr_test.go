package nostr_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/nostr"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

// event returns the n-th event, from 1; three share a second.
func event(n int) nostr.Event {
	return nostr.Event{ID: fmt.Sprint("id", n), CreatedAt: int64(1000 + n/3), Content: fmt.Sprint("event ", n)}
}

// serve is a relay of twelve events. Its history is newest first: five events, or those until the second of since; the
// others come live, after one that is dated in the future.
func serve(ctx context.Context, l net.Listener) {
	check.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer conn.CloseNow()
		var request []json.RawMessage
		var filter struct{ Since int64 }
		if wsjson.Read(ctx, conn, &request) != nil || json.Unmarshal(request[2], &filter) != nil {
			return
		}
		ctx := conn.CloseRead(ctx)
		send := func(e nostr.Event) error {
			time.Sleep(50 * time.Millisecond)
			return wsjson.Write(ctx, conn, []any{"EVENT", "feed", e})
		}
		stored := 5
		for stored < 12 && event(stored+1).CreatedAt <= filter.Since {
			stored++
		}
		for n := stored; n > 0; n-- {
			e := event(n)
			if n == 2 || n == 3 { // this relay does not sort well
				e = event(5 - n)
			}
			if e.CreatedAt >= filter.Since && send(e) != nil {
				return
			}
		}
		_ = wsjson.Write(ctx, conn, []string{"EOSE", "feed"})
		_ = send(nostr.Event{ID: "later", CreatedAt: time.Now().Add(time.Hour).Unix(), Content: "of the future"})
		for n := stored + 1; n <= 12; n++ {
			if send(event(n)) != nil {
				return
			}
		}
		<-ctx.Done()
	}))
}

// The relay sends its history newest first; after each break the events come once, and in order.
func TestFollow(t *testing.T) {
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.ResetAfterItems(1), retry.ResetAfter(time.Minute))
	reconnecttest.Check(t, func() reconnecttest.Run[string] {
		return reconnecttest.Run[string]{Serve: serve, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(string)) error {
			client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
			last := int64(0)
			return nostr.Follow(client, "ws://127.0.0.1/", nil, nostr.Position{}, 2*time.Minute, policy).ForEach(ctx, func(e nostr.Event) {
				if e.CreatedAt < last {
					t.Errorf("%s of %d comes after %d", e.Content, e.CreatedAt, last)
				}
				last = e.CreatedAt
				got(e.Content)
			})
		}}
	})
}

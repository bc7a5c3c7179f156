package subscriptions_test

import (
	"context"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/recipes/subscriptions"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/reconnecttest"
	"github.com/retrywhen/retrywhen/retry"
)

func TestMain(m *testing.M) { check.Main(m) }

// The topics change while connected, and the connection breaks at each place: each event comes once.
func TestEvents_ComeBack(t *testing.T) {
	policy := retry.New(backoff.Exponential(time.Second, 2).Cap(30*time.Second).Jitter(jitter.Full), retry.ResetAfterItems(1), retry.ResetAfter(time.Minute))
	reconnecttest.Check(t, func() reconnecttest.Run[subscriptions.Event] {
		return reconnecttest.Run[subscriptions.Event]{Serve: serve, Client: func(ctx context.Context, dial reconnecttest.Dial, got func(subscriptions.Event)) error {
			client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
			var topics subscriptions.Topics
			topics.Subscribe("a", 0)
			return topics.Events(client, "ws://127.0.0.1/", 30*time.Second, policy).ForEach(ctx, func(e subscriptions.Event) {
				got(e)
				switch {
				case e.Topic == "a" && e.ID == 3:
					topics.Subscribe("b", 2)
				case e.Topic == "b" && e.ID == 5:
					topics.Leave("a")
					topics.Subscribe("c", 0)
				}
			})
		}}
	}, reconnecttest.AnyOrder())
}

// A topic that was left and subscribed again, at an older event, begins there, though nothing but its position has changed.
func TestSubscribe_Again(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, dial := check.Pipe()
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		var server sync.WaitGroup
		server.Go(func() { serve(ctx, l) })
		client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
		var topics subscriptions.Topics
		topics.Subscribe("b", 0)
		var ids []int
		err := topics.Events(client, "ws://127.0.0.1/", 30*time.Second, retry.Default).Take(8).ForEach(ctx, func(e subscriptions.Event) {
			if ids = append(ids, e.ID); len(ids) == 4 {
				topics.Leave("b")
				topics.Subscribe("b", 2)
			}
		})
		if err != nil || !slices.Equal(ids, []int{1, 2, 3, 4, 3, 4, 5, 6}) {
			t.Errorf("%v, %v", ids, err)
		}
		stop()
		time.Sleep(time.Minute) // until the server's heartbeats have ended
		server.Wait()
	})
}

// serve has topics of the events 1 to 6, and a of 1 to 3, so that what comes does not depend on the time of a change. It
// sends heartbeats.
func serve(ctx context.Context, l net.Listener) {
	check.Serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		ctx, stop := context.WithCancel(ctx)
		var topics sync.WaitGroup
		defer topics.Wait()
		defer stop()
		defer conn.CloseNow()
		topics.Go(func() {
			defer stop()
			for {
				time.Sleep(10 * time.Second)
				if wsjson.Write(ctx, conn, subscriptions.Event{}) != nil {
					return
				}
			}
		})
		for {
			var m struct {
				Subscribe     string
				Number, After int
			}
			if wsjson.Read(ctx, conn, &m) != nil {
				return
			}
			if m.Subscribe == "" {
				continue
			}
			topics.Go(func() {
				last := 6
				if m.Subscribe == "a" {
					last = 3
				}
				for id := m.After + 1; id <= last; id++ {
					time.Sleep(100 * time.Millisecond)
					if wsjson.Write(ctx, conn, subscriptions.Event{Subscription: m.Number, Topic: m.Subscribe, ID: id}) != nil {
						return
					}
				}
			})
		}
	}))
}

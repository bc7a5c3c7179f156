package reconnect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	ethevent "github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/rpc"
	gorilla "github.com/gorilla/websocket"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

var ethereumSubject = subject{
	name:     "ethereum/go-ethereum v1.17.10, event.Resubscribe",
	promises: "A subscription of new heads with rpc.Client over WebSocket, kept by event.Resubscribe with a backoff of 10 s at most. A node repeats nothing. GivesUp, AtLeastOnce.",
	serve:    serveEthereum, run: runEthereum, options: []reconnecttest.Option{givesUp, atLeastOnce},
	notes: []note{
		{prove.GaveUp, "", "The first connection is the caller's: DialOptions returns its error. " + link("client.go:233", ethereumFiles+"rpc/client.go#L233"), "", ethereumFirstConnection},
		{prove.Silent, "", point("go-ethereum", 3, link("client.go:233", ethereumFiles+"rpc/client.go#L233"), link("client.go:628", ethereumFiles+"rpc/client.go#L628")),
			"Documented: the context of " + dialOptions + " ends it", fails("go-ethereum", "TestDialOfASilentServer")},
		{prove.Late, "", point("go-ethereum", 4, link("subscription.go:378", ethereumFiles+"rpc/subscription.go#L378")) + "; " +
			point("gorilla-websocket", 0, link("client.go:338", "gorilla/websocket/blob/e064f32e3674/client.go#L338")),
			"Promised otherwise: " + dialOptions, fails("go-ethereum", "TestUnsubscribeOnASilentConnection")},
		{prove.Hot, "", point("go-ethereum", 1, link("subscription.go:159", ethereumFiles+"event/subscription.go#L159")),
			"Promised otherwise: [Resubscribe](https://pkg.go.dev/github.com/ethereum/go-ethereum/event#Resubscribe)", fails("go-ethereum", "TestWaitAfterASubscriptionThatFails")},
		{prove.Jitter, "", point("go-ethereum", 2, link("subscription.go:215", ethereumFiles+"event/subscription.go#L215")), "", fails("go-ethereum", "TestJitter")},
	},
}

const (
	ethereumFiles = "ethereum/go-ethereum/blob/v1.17.10/"
	dialOptions   = "[DialOptions](https://pkg.go.dev/github.com/ethereum/go-ethereum/rpc#DialOptions)"
)

// runEthereum has a dialer with the default one's settings.
func runEthereum(ctx context.Context, dial dialFunc, got func(string)) error {
	client, err := rpc.DialOptions(ctx, "ws://127.0.0.1", rpc.WithWebsocketDialer(gorilla.Dialer{NetDialContext: dial}))
	if err != nil {
		return err
	}
	defer client.Close()
	heads := make(chan struct{ Number string })
	subscription := ethevent.Resubscribe(10*time.Second, func(ctx context.Context) (ethevent.Subscription, error) {
		return client.EthSubscribe(ctx, heads, "newHeads")
	})
	defer subscription.Unsubscribe()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-subscription.Err():
			return errors.Join(errors.New("the subscription has ended"), err)
		case h := <-heads:
			got(h.Number)
		}
	}
}

func ethereumFirstConnection(t *testing.T) {
	visit(t, runEthereum, func(s *server, ended <-chan error, _ func()) {
		if time.Sleep(time.Hour); !hasEnded(ended) || s.connections() != 1 {
			t.Errorf("it has not ended, after %d connections", s.connections())
		}
	}, nil)
}

// serveEthereum speaks as much of JSON-RPC over WebSocket as a subscriber needs. Each subscription gets all events.
var serveEthereum = serveHTTP(func(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	for {
		var request struct {
			ID     json.RawMessage
			Method string
		}
		if wsjson.Read(r.Context(), conn, &request) != nil {
			return
		}
		switch request.Method {
		case "eth_subscribe":
			_ = wsjson.Write(r.Context(), conn, map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": "0x1"})
			go publish(func(text string) error { return conn.Write(r.Context(), websocket.MessageText, []byte(text)) }, func(text string) string {
				return fmt.Sprintf(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":"0x1","result":{"number":%q}}}`, text)
			})
		default:
			_ = wsjson.Write(r.Context(), conn, map[string]any{"jsonrpc": "2.0", "id": request.ID, "result": true})
		}
	}
})

package reconnect

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/centrifugal/centrifuge-go"
	"github.com/coder/websocket"

	"github.com/retrywhen/retrywhen/prove"
)

// serveCentrifuge speaks as much of Centrifugo's JSON protocol as a subscriber needs. A subscription gets the events
// after its position, and its connection a ping each 25 s.
var serveCentrifuge = serveHTTP(func(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	write := func(format string, args ...any) error {
		return conn.Write(ctx, websocket.MessageText, fmt.Appendf(nil, format, args...))
	}
	for {
		_, data, err := conn.Read(ctx)
		if err != nil {
			return
		}
		for line := range bytes.Lines(data) {
			var command struct {
				ID        int
				Connect   *struct{}
				Subscribe *struct{ Offset int }
			}
			if json.Unmarshal(line, &command) != nil {
				return
			}
			switch {
			case command.Connect != nil:
				_ = write(`{"id":%d,"connect":{"client":"c","version":"6","ping":25,"pong":true}}`, command.ID)
			case command.Subscribe != nil:
				n := command.Subscribe.Offset
				_ = write(`{"id":%d,"subscribe":{"recoverable":true,"positioned":true,"epoch":"e","offset":%d,"recovered":true}}`, command.ID, n)
				go func() {
					for n++; n <= events; n++ {
						time.Sleep(pace)
						if write(`{"push":{"channel":"events","pub":{"data":"event %d","offset":%[1]d}}}`, n) != nil {
							return
						}
					}
					for time.Sleep(25 * time.Second); write("{}") == nil; time.Sleep(25 * time.Second) {
					}
				}()
			}
		}
	}
})

func runCentrifuge(ctx context.Context, dial dialFunc, got func(string)) error {
	client := centrifuge.NewJsonClient("ws://server/connection/websocket", centrifuge.Config{
		NetDialContext: dial, Proxy: func(*http.Request) (*url.URL, error) { return nil, nil },
	})
	defer client.Close()
	subscription, err := client.NewSubscription("events")
	if err != nil {
		return err
	}
	subscription.OnPublication(func(e centrifuge.PublicationEvent) { got(string(e.Data)) })
	if err := subscription.Subscribe(); err != nil {
		return err
	}
	_ = client.Connect() // "In case of failure client will automatically reconnect"
	<-ctx.Done()
	return ctx.Err()
}

var centrifugeSubject = subject{
	name:     "centrifugal/centrifuge-go v0.12.1",
	promises: "A JSON client with the default Config, and a subscription that is recovered. Each event is expected once.",
	serve:    serveCentrifuge, run: runCentrifuge,
	notes: []note{
		{prove.Unjudged, "", point("centrifuge-go", 0, link("client.go:694", "centrifugal/centrifuge-go/blob/v0.12.1/client.go#L694")),
			"", fails("centrifuge-go", "TestCloseWhileAHandlerAsksForTheState")},
	},
}

package reconnect

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	gorilla "github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
	"github.com/slack-go/slack/socketmode"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

var slackSubject = subject{
	name:     "slack-go/slack v0.35.0, Socket Mode",
	promises: "The example of Socket Mode. Slack repeats events that are not acknowledged, so repeated values are allowed, and lost ones are not.",
	fresh:    newSlack, options: []reconnecttest.Option{atLeastOnce},
	notes: []note{
		{prove.Silent, "", point("slack-go", 1, link("socket_mode_managed_conn.go:284", slackFile+"#L284")),
			"", fails("slack-go", "TestOpenWithoutAnAnswer")},
		{prove.Late, "", point("gorilla-websocket", 0, link("client.go:338", "gorilla/websocket/blob/e064f32e3674/client.go#L338")),
			"", fails("gorilla-websocket", "TestDialContextEndsWithItsContext")},
		{prove.Hot, "", point("slack-go", 2, link("socket_mode_managed_conn.go:46", slackFile+"#L46")),
			"", fails("slack-go", "TestWaitAfterAConnectionThatEndsAtOnce")},
		{prove.Jitter, "", point("slack-go", 3, link("socket_mode_managed_conn.go:206", slackFile+"#L206")),
			"", fails("slack-go", "TestJitter")},
	},
}

const slackFile = "slack-go/slack/blob/v0.35.0/socketmode/socket_mode_managed_conn.go"

// runSlack is the example of Socket Mode, which acknowledges each event. The dialer has the default one's settings.
func runSlack(ctx context.Context, dial dialFunc, got func(string)) error {
	client, transport := over(dial)
	defer transport.CloseIdleConnections()
	api := slack.New("xoxb", slack.OptionAppLevelToken("xapp"), slack.OptionAPIURL("http://127.0.0.1/api/"), slack.OptionHTTPClient(client))
	socket := socketmode.New(api, socketmode.OptionDialer(&gorilla.Dialer{NetDialContext: dial, HandshakeTimeout: 45 * time.Second, WriteBufferSize: 32 << 10}))
	ended := make(chan error, 1)
	go func() { ended <- socket.RunContext(ctx) }()
	for {
		select {
		case err := <-ended:
			return err
		case e := <-socket.Events:
			if callback, ok := e.Data.(slackevents.EventsAPIEvent); ok {
				got(callback.InnerEvent.Data.(*slackevents.MessageEvent).Text)
				_ = socket.AckCtx(ctx, e.Request.EnvelopeID, nil)
			}
		}
	}
}

// newSlack returns runSlack and a server that speaks as much of Socket Mode as a receiver of events needs: each
// connection gets the events that are not acknowledged, and a ping every 10 s.
func newSlack() (serverRun, clientRun) {
	var acknowledged atomic.Int64
	return serveHTTP(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/apps.connections.open" {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"ok":true,"url":"ws://127.0.0.1/link"}`)
			return
		}
		conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
		if err != nil {
			return
		}
		defer conn.CloseNow()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		go func() {
			defer cancel()
			for {
				var reply struct {
					Envelope int64 `json:"envelope_id,string"`
				}
				if wsjson.Read(ctx, conn, &reply) != nil {
					return
				}
				acknowledged.Store(max(acknowledged.Load(), reply.Envelope))
			}
		}()
		err = wsjson.Write(ctx, conn, map[string]any{"type": "hello", "num_connections": 1})
		for n := acknowledged.Load() + 1; err == nil; n++ {
			if n > events {
				time.Sleep(heartbeat)
				err = conn.Ping(ctx)
				continue
			}
			time.Sleep(pace)
			payload := fmt.Sprintf(`{"type":"event_callback","event_id":"%d","event":{"type":"message","channel":"C","user":"U","text":"event %d"}}`, n, n)
			err = wsjson.Write(ctx, conn, map[string]any{"type": "events_api", "envelope_id": fmt.Sprint(n), "payload": json.RawMessage(payload)})
		}
	}), runSlack
}

package reconnect

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/coder/websocket"
	"github.com/coder/websocket/wsjson"
	gorilla "github.com/gorilla/websocket"

	"github.com/retrywhen/retrywhen/prove"
)

var discordSubject = realSubject{
	"bwmarrin/discordgo v0.29.0 over TCP",
	"The example pingpong, and a server in the test whose heartbeat interval is 1.72 s, in place of 41.25. The session is resumed at its last sequence number, so each message is expected once; " +
		"in any order, as each handler runs on a goroutine of its own.",
	startDiscord,
	map[prove.Kind]string{
		prove.GaveUp: "The first connection is the caller's: Open returns its error. " + link("wsapi.go:68", discordFile+"#L68"),
		prove.Silent: point("discordgo", 1, link("wsapi.go:104", discordFile+"#L104"), link("wsapi.go:171", discordFile+"#L171")),
		prove.Late:   point("discordgo", 1, link("wsapi.go:57", discordFile+"#L57"), link("wsapi.go:946", discordFile+"#L946")),
	},
}

const discordFile = "bwmarrin/discordgo/blob/v0.29.0/wsapi.go"

func startDiscord(t *testing.T) prove.Target {
	return prove.Target{Server: serving(t, serveDiscord), AnyOrder: true, Client: func(ctx context.Context, r prove.Run, got func(string)) error {
		return runDiscord(ctx, func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, r.Addr)
		}, got)
	}}
}

// runDiscord is the example pingpong, without TLS. The dialer has the default one's settings.
func runDiscord(ctx context.Context, dial dialFunc, got func(string)) error {
	session, err := discordgo.New("Bot token")
	if err != nil {
		return err
	}
	transport := &http.Transport{DialTLSContext: dial}
	defer transport.CloseIdleConnections()
	session.Client.Transport = transport
	session.Dialer = &gorilla.Dialer{NetDialTLSContext: dial, HandshakeTimeout: 45 * time.Second}
	session.LogLevel = -1
	session.AddHandler(func(_ *discordgo.Session, m *discordgo.MessageCreate) { got(m.Content) })
	session.Identify.Intents = discordgo.IntentsGuildMessages
	if err := session.Open(); err != nil {
		return err
	}
	<-ctx.Done()
	return session.Close()
}

// serveDiscord speaks as much of Discord's gateway as a receiver of messages needs. There is one session; who
// identifies anew gets all messages.
var serveDiscord = serveHTTP(func(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Upgrade") == "" {
		fmt.Fprint(w, `{"url":"wss://127.0.0.1"}`)
		return
	}
	conn, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer conn.CloseNow()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	type op struct {
		Op       int             `json:"op"`
		Sequence int             `json:"s,omitempty"`
		Type     string          `json:"t,omitempty"`
		Data     json.RawMessage `json:"d,omitempty"`
	}
	send := func(o op) bool { return wsjson.Write(ctx, conn, o) == nil }
	dispatch := func(n int, kind, data string, args ...any) bool {
		return send(op{Sequence: n, Type: kind, Data: fmt.Appendf(nil, data, args...)})
	}
	send(op{Op: 10, Data: json.RawMessage(`{"heartbeat_interval":1720}`)})
	publish := func(last int, resumed bool) {
		defer cancel()
		if !resumed && !dispatch(1, "READY", `{"session_id":"session","user":{"id":"2"}}`) {
			return
		}
		for n := max(last, 1) + 1; n <= events+1; n++ {
			time.Sleep(pace)
			if !dispatch(n, "MESSAGE_CREATE", `{"id":"%d","channel_id":"3","content":"event %d","author":{"id":"4"}}`, n, n-1) {
				return
			}
		}
		if resumed && !dispatch(events+1, "RESUMED", `{}`) {
			return
		}
		<-ctx.Done()
	}
	for {
		var o op
		if wsjson.Read(ctx, conn, &o) != nil {
			return
		}
		switch o.Op {
		case 1:
			send(op{Op: 11})
		case 2:
			go publish(0, false)
		case 6:
			var position struct{ Seq int }
			_ = json.Unmarshal(o.Data, &position)
			go publish(position.Seq, true)
		}
	}
})

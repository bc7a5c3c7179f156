package reconnect

import (
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/eclipse/paho.golang/autopaho"
	"github.com/eclipse/paho.golang/packets"
	"github.com/eclipse/paho.golang/paho"

	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/reconnecttest"
)

// serveMQTT5 speaks as much of MQTT 5 as a subscriber needs. Each subscription gets all events.
var serveMQTT5 = serveTCP(func(conn net.Conn, write func(string) error) {
	send := func(content packets.Packet, kind byte) error {
		p := packets.NewControlPacket(kind)
		p.Content = content
		return write(written(p))
	}
	for {
		p, err := packets.ReadPacket(conn)
		if err != nil {
			return
		}
		switch p := p.Content.(type) {
		case *packets.Connect:
			_ = send(&packets.Connack{Properties: &packets.Properties{}}, packets.CONNACK)
		case *packets.Subscribe:
			_ = send(&packets.Suback{PacketID: p.PacketID, Properties: &packets.Properties{}, Reasons: []byte{0}}, packets.SUBACK)
			go publish(write, func(text string) string {
				publish := packets.NewControlPacket(packets.PUBLISH)
				publish.Content = &packets.Publish{Topic: "events", Properties: &packets.Properties{}, Payload: []byte(text)}
				return written(publish)
			})
		case *packets.Pingreq:
			_ = send(&packets.Pingresp{}, packets.PINGRESP)
		}
	}
})

// written returns the bytes of a packet.
func written(p *packets.ControlPacket) string {
	var text textWriter
	_, _ = p.WriteTo(&text)
	return string(text)
}

type textWriter []byte

func (w *textWriter) Write(b []byte) (int, error) {
	*w = append(*w, b...)
	return len(b), nil
}

func runAutopaho(ctx context.Context, dial dialFunc, got func(string)) error {
	server, _ := url.Parse("mqtt://server:1883")
	manager, err := autopaho.NewConnection(ctx, autopaho.ClientConfig{
		ServerUrls: []*url.URL{server}, KeepAlive: 20, CleanStartOnInitialConnection: true,
		AttemptConnection: func(ctx context.Context, _ autopaho.ClientConfig, u *url.URL) (net.Conn, error) {
			return dial(ctx, "tcp", u.Host)
		},
		OnConnectionUp: func(m *autopaho.ConnectionManager, _ *paho.Connack) {
			go func() {
				_, _ = m.Subscribe(ctx, &paho.Subscribe{Subscriptions: []paho.SubscribeOptions{{Topic: "events"}}})
			}()
		},
		ClientConfig: paho.ClientConfig{ClientID: "client", OnPublishReceived: []func(paho.PublishReceived) (bool, error){
			func(p paho.PublishReceived) (bool, error) { got(string(p.Packet.Payload)); return true, nil },
		}},
	})
	if err != nil {
		return err
	}
	<-manager.Done()
	if ctx.Err() == nil {
		return errors.New("it has ended")
	}
	return ctx.Err()
}

var autopahoSubject = subject{
	name:     "eclipse/paho.golang v0.23.0, autopaho",
	promises: "The README's configuration: KeepAlive 20 s, the default backoff, and a subscription in OnConnectionUp. Quality of service 0. AtLeastOnce.",
	serve:    serveMQTT5, run: runAutopaho, options: []reconnecttest.Option{atLeastOnce},
	notes: []note{
		{prove.Hot, "", "The count of attempts begins anew after each CONNACK, and the first one does not wait. " + link("net.go:42", autopahoFiles+"net.go#L42"), "", autopahoHot},
		{prove.Jitter, "", "The default backoff is 10 s. " + link("auto.go:257", autopahoFiles+"auto.go#L257"), "Documented: it is an option, ReconnectBackoff", equalWaits(runAutopaho, nil)},
	},
}

const autopahoFiles = "eclipse/paho.golang/blob/v0.23.0/autopaho/"

// autopahoHot shows a server that accepts each connection, and ends it a millisecond later.
func autopahoHot(t *testing.T) {
	visit(t, runAutopaho, func(s *server, _ <-chan error, _ func()) {
		if time.Sleep(time.Second); s.connections() < 500 {
			t.Errorf("%d connections in a second", s.connections())
		}
	}, func(_ *server, conn net.Conn) {
		_, _ = packets.ReadPacket(conn)
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		_, _ = io.WriteString(conn, "\x20\x03\x00\x00\x00")
		time.Sleep(time.Millisecond)
		_ = conn.Close()
	})
}

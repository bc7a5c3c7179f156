package mqtt_test

import (
	"context"
	"io"
	"log/slog"
	"strconv"
	"testing"
	"time"

	paho "github.com/eclipse/paho.mqtt.golang"
	broker "github.com/mochi-mqtt/server/v2"
	"github.com/mochi-mqtt/server/v2/hooks/auth"
	"github.com/mochi-mqtt/server/v2/listeners"

	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/mqtt"
)

func TestMain(m *testing.M) { killed.Main(m, program) }

// session configures a client whose session has the name.
func session(address, name string) func(*paho.ClientOptions) {
	return func(o *paho.ClientOptions) {
		o.AddBroker("tcp://" + address).SetClientID(name).SetConnectTimeout(time.Second)
	}
}

// program has the effect of each message and then acknowledges it, with a Buffer of so many messages before. This broker
// sends what was not acknowledged in any order, so the message that comes last may be one that is repeated.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	buffer, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	messages := mqtt.Messages("events", session(args[0], "reader"), proxy.Policy)
	if buffer > 0 {
		messages = messages.Buffer(buffer)
	}
	return messages.TakeWhile(func(m paho.Message) bool {
		i, _ := strconv.Atoi(string(m.Payload()))
		e.Apply(nil, i)
		m.Ack()
		lost, again := e.Counts().Count(1, n)
		return len(lost) > 0 || again < kills
	}).ForEach(ctx, func(paho.Message) {})
}

// The process is killed three times between an effect and its acknowledgement: with a Buffer nothing is lost either.
func TestMessages_Killed(t *testing.T) {
	for system, buffer := range map[string]string{"MQTT": "0", "MQTT, with a Buffer of 100": "100"} {
		killed.Check(t, system, kills, 250, n, "3 or more", serve(t), buffer)
	}
}

const n, kills = 1000, 3

// serve starts a broker whose session "reader" has the messages 1 to n, and returns its address. They are published
// while no client comes or goes: this broker loses what is published while a session is taken over.
func serve(t *testing.T) string {
	t.Helper()
	b := broker.New(&broker.Options{InlineClient: true, Logger: slog.New(slog.NewTextHandler(io.Discard, nil))})
	tcp := listeners.NewTCP(listeners.Config{ID: "tcp", Address: "127.0.0.1:0"})
	check.Must(t, b.AddHook(new(auth.AllowHook), nil))
	check.Must(t, b.AddListener(tcp))
	check.Must(t, b.Serve())
	t.Cleanup(func() { _ = b.Close() })
	options := paho.NewClientOptions()
	session(tcp.Address(), "reader")(options)
	client := paho.NewClient(options.SetCleanSession(false).SetAutoAckDisabled(true))
	for _, step := range []func() paho.Token{client.Connect, func() paho.Token { return client.Subscribe("events", 1, nil) }} {
		if token := step(); token.Wait() && token.Error() != nil {
			t.Fatal(token.Error())
		}
	}
	for i := 1; i <= n; i++ {
		check.Must(t, b.Publish("events", []byte(strconv.Itoa(i)), false, 1))
	}
	client.Disconnect(0)
	return tcp.Address()
}

// A thousand messages over a network that cuts, falls silent and refuses: none is lost, and those that come again,
// because their acknowledgement was, say so.
func TestMessages(t *testing.T) {
	const every = 150
	network := proxy.Start(t, serve(t))
	fault, address := network.Each(), "tcp://"+network.Address()
	configure := func(o *paho.ClientOptions) {
		o.AddBroker(address).SetClientID("reader").SetConnectTimeout(time.Second)
		o.SetKeepAlive(time.Second).SetPingTimeout(200 * time.Millisecond)
	}
	seen, faults, again := map[int]bool{}, 0, 0
	err := mqtt.Messages("events", configure, proxy.Policy)(t.Context(), func(m paho.Message) bool {
		time.Sleep(time.Millisecond) // its effect
		i, err := strconv.Atoi(string(m.Payload()))
		check.Must(t, err)
		if seen[i] && !m.Duplicate() {
			t.Errorf("%d comes again, and is no duplicate", i)
		}
		if seen[i] {
			again++
		} else if seen[i] = true; len(seen)%every == 0 {
			faults++
			fault()
		}
		m.Ack()
		return len(seen) < n
	})
	if err != nil || len(seen) != n || faults != n/every {
		t.Errorf("%d of %d messages after %d faults, %v", len(seen), n, faults, err)
	}
	t.Logf("%d messages, %d faults, %d came again", len(seen), faults, again)
}

package jetstream_test

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	js "github.com/nats-io/nats.go/jetstream"

	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/examples/internal/killed"
	"github.com/retrywhen/retrywhen/examples/internal/ledger"
	"github.com/retrywhen/retrywhen/examples/recipes/internal/proxy"
	"github.com/retrywhen/retrywhen/examples/recipes/jetstream"
)

const heartbeat = 500 * time.Millisecond // the minimum of JetStream

// serve starts a server with an empty stream "events", and returns its address and the stream.
func serve(t *testing.T) (string, js.JetStream, js.Stream) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true})
	check.Must(t, err)
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the server did not start")
	}
	conn, err := nats.Connect(s.ClientURL())
	check.Must(t, err)
	t.Cleanup(conn.Close)
	api, err := js.New(conn)
	check.Must(t, err)
	events, err := api.CreateStream(t.Context(), js.StreamConfig{Name: "events", Subjects: []string{"events"}, Storage: js.MemoryStorage})
	check.Must(t, err)
	return s.Addr().String(), api, events
}

// publish publishes the numbers first to last. Each is the message with that sequence.
func publish(t *testing.T, api js.JetStream, first, last int) {
	for n := first; n <= last; n++ {
		if _, err := api.Publish(t.Context(), "events", []byte(strconv.Itoa(n))); err != nil {
			t.Error(err)
			return
		}
	}
}

func TestMessages(t *testing.T) {
	const n, every = 3000, 500
	address, api, _ := serve(t)
	network := proxy.Start(t, address)
	fault := network.Each()
	go publish(t, api, 1, n)
	account := ledger.Ledger{}
	err := jetstream.Messages("nats://"+network.Address(), "events", 0, heartbeat, proxy.Policy).Take(n).ForEach(t.Context(), func(m jetstream.Message) {
		if m.Lost > 0 || string(m.Data) != fmt.Sprint(m.Sequence) {
			t.Errorf("got %+v", m)
		}
		if account.Enter(int(m.Sequence))%every == 0 {
			fault()
		}
	})
	if err != nil {
		t.Error(err)
	}
	account.Check(t, 1, n)
}

// Messages are purged while the reader is disconnected: the next message has the number of lost ones. The reader may
// still have some hundred messages when its connection is cut.
func TestMessages_Purge(t *testing.T) {
	const n, cut, oldest = 2000, 50, 1901
	address, api, events := serve(t)
	network := proxy.Start(t, address)
	publish(t, api, 1, n)
	seen, last, lost := 0, uint64(0), uint64(0)
	messages := jetstream.Messages("nats://"+network.Address(), "events", 0, heartbeat, proxy.Policy)
	err := messages(t.Context(), func(m jetstream.Message) bool {
		if m.Sequence != last+m.Lost+1 || m.Lost > 0 && m.Sequence != oldest {
			t.Errorf("%d after %d, %d lost", m.Sequence, last, m.Lost)
		}
		last, lost = m.Sequence, lost+m.Lost
		if seen++; seen == cut {
			network.Refuse(100 * time.Millisecond)
			if err := events.Purge(t.Context(), js.WithPurgeSequence(oldest)); err != nil {
				t.Error(err)
			}
		}
		return last < n
	})
	if err != nil || lost == 0 || seen+int(lost) != n {
		t.Errorf("%d messages, %d lost, %v", seen, lost, err)
	}
}

func TestMain(m *testing.M) { killed.Main(m, program) }

// program stores the sequence of each message.
func program(ctx context.Context, e *killed.Effects, args []string) error {
	at := uint64(0)
	e.Start(&at)
	messages := jetstream.Messages("nats://"+args[0], "events", at, heartbeat, proxy.Policy)
	return killed.Follow(ctx, e, 1000, messages, func(m jetstream.Message) (int, any) { return int(m.Sequence), m.Sequence })
}

func TestMessages_Killed(t *testing.T) {
	address, api, _ := serve(t)
	go publish(t, api, 1, 1000)
	killed.Check(t, "NATS JetStream", 10, 75, 1000, "0", address)
}

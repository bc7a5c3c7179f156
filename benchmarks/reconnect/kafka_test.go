package reconnect

import (
	"context"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/retrywhen/retrywhen/prove"
)

var kafkaSubject = subject{
	name: "twmb/franz-go v1.22.2, a consumer with kfake",
	promises: "A consumer of a topic with one partition, from its start, without a group, with the default options. kfake is the project's broker for tests, in this process. " +
		"Each record is expected once.",
	fresh: newKafka,
	notes: []note{
		{prove.GaveUp, "", "A connection that ends before its first answer is taken for a wrong configuration, and the error is returned to the poll; the README ends then. " +
			link("errors.go:98", kafkaFiles+"errors.go#L98"), "Documented: it is an option, AlwaysRetryEOF", kafkaFirstAnswer},
		{prove.Late, "", point("franz-go", 0, link("consumer.go:2004", kafkaFiles+"consumer.go#L2004")), "", fails("franz-go", "TestCloseOnASilentConnection")},
	},
}

const kafkaFiles = "twmb/franz-go/blob/v1.22.2/pkg/kgo/"

// newKafka returns a consumer and a broker, which outlives its listeners.
func newKafka() (serverRun, clientRun) {
	return newBroker().serve, runKafka
}

func runKafka(ctx context.Context, dial dialFunc, got func(string)) error {
	client, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:9092"), kgo.ConsumeTopics("events"), kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.Dialer(dial))
	if err != nil {
		return err
	}
	defer client.Close()
	for ctx.Err() == nil {
		fetches := client.PollFetches(ctx)
		if err := fetches.Err0(); err != nil && ctx.Err() == nil {
			return err
		}
		fetches.EachRecord(func(r *kgo.Record) { got(string(r.Value)) })
	}
	return nil
}

// kafka is a cluster of one broker, whose connections come from several listeners, one after the other, and from a
// producer of a record every 100 ms. It ends when there has been no listener for 10 s.
type kafka struct {
	begin   sync.Once
	conns   chan net.Conn
	closed  chan struct{}
	serving atomic.Int64
}

func newBroker() *kafka { return &kafka{conns: make(chan net.Conn), closed: make(chan struct{})} }

func (k *kafka) Accept() (net.Conn, error) {
	select {
	case c := <-k.conns:
		return c, nil
	case <-k.closed:
		return nil, net.ErrClosed
	}
}

func (k *kafka) Close() error   { return nil }
func (k *kafka) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 9092} }

func (k *kafka) run() {
	cluster, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "events"), kfake.ListenFn(func(string, string) (net.Listener, error) { return k, nil }))
	if err != nil {
		panic(err)
	}
	producer, err := kgo.NewClient(kgo.SeedBrokers("127.0.0.1:9092"), kgo.DefaultProduceTopic("events"), kgo.ProducerLinger(0),
		kgo.Dialer(func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			k.conns <- server
			return client, nil
		}))
	if err != nil {
		panic(err)
	}
	for n := range events {
		time.Sleep(pace)
		_ = producer.ProduceSync(context.Background(), kgo.StringRecord(fmt.Sprint("event ", n+1)))
	}
	for idle := 0; idle < 10; time.Sleep(time.Second) {
		if idle++; k.serving.Load() > 0 {
			idle = 0
		}
	}
	producer.Close()
	close(k.closed)
	cluster.Close()
}

// start runs the broker for a test, until end is called.
func (k *kafka) start() (end func()) {
	k.serving.Add(1)
	k.begin.Do(func() { go k.run() })
	return func() { k.serving.Add(-1) }
}

func (k *kafka) serve(ctx context.Context, l net.Listener) {
	defer k.start()()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		k.conns <- c
	}
}

// The second connection, for the offsets, ends after the first request, in good order.
func kafkaFirstAnswer(t *testing.T) {
	var end func()
	var broker *kafka
	visit(t, runKafka, func(s *server, ended <-chan error, _ func()) {
		if time.Sleep(time.Minute); !hasEnded(ended) || s.connections() != 2 {
			t.Errorf("it has not ended, after %d connections", s.connections())
		}
		end()
	}, func(_ *server, c net.Conn) {
		broker = newBroker()
		end = broker.start()
		broker.conns <- c
	}, func(_ *server, c net.Conn) {
		_, _ = c.Read(make([]byte, 1000))
		_ = c.Close()
	})
}

package reconnect

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	mqtt "github.com/eclipse/paho.mqtt.golang"
	"github.com/nats-io/nats.go"
	"github.com/redis/go-redis/v9"
)

// comparison is a server of this package, and a real one.
type comparison struct {
	name  string
	fresh func() (serverRun, clientRun)
	start func(t *testing.T) (address string, publish func(text string) error) // the real one
	begun string                                                               // what it says when the client is subscribed
	ended func(said string) bool                                               // whether all has come
	alike func(said string) string                                             // without what differs from server to server
}

var lastEvent = fmt.Sprint("event ", events)

// redisPong comes whenever there has been no message for 3 s.
const redisPong = "*2\r\n$4\r\npong\r\n$0\r\n\r\n"

var comparisons = []comparison{
	{
		name: "redis", start: startRedis, begun: "begin",
		fresh: func() (serverRun, clientRun) { return serveRedis, runRedis },
		ended: func(said string) bool { return strings.Contains(said, lastEvent) && strings.HasSuffix(said, redisPong) },
		alike: without(`\$\d+\r\n\d+\.\d+\.\d+\r\n|:\d+\r\n\$4\r\nmode|\+OK\r\n|-ERR unknown subcommand .*\r\n|` + regexp.QuoteMeta(redisPong) + `|\*3\r\n\$7\r\nmessage\r\n\$6\r\nevents\r\n\$5\r\nbegin\r\n`), // CLIENT SETINFO is new in 7.2
	},
	{
		name: "mosquitto", start: startMosquitto, begun: "begin",
		fresh: func() (serverRun, clientRun) { return serveMQTT, runMQTT },
		ended: func(said string) bool { return strings.HasSuffix(said, "\xd0\x00") }, // half a minute after the last event
		alike: without(`0\x0d\x00\x06eventsbegin`),
	},
	{
		name: "nats-server", start: startNATS, begun: "begin",
		fresh: func() (serverRun, clientRun) { return serveNATS, runNATS },
		ended: func(said string) bool { return strings.HasSuffix(said, lastEvent+"\r\n") },
		alike: without(`(?m) {.*} ?|MSG events \d+ 5\r\nbegin\r\n|^PING\r\n`), // ours sends no PING
	},
	{
		name: "PostgreSQL", start: startNotify, begun: "LISTEN\x00",
		fresh: newPostgres,
		ended: func(said string) bool {
			return strings.Contains(said, lastEvent) || strings.Count(said, "events\x00\x00") == events
		},
		alike: withoutParameters,
	},
}

// without returns a function that removes what matches.
func without(pattern string) func(string) string {
	differs := regexp.MustCompile(pattern)
	return func(said string) string { return differs.ReplaceAllString(said, "") }
}

// withoutParameters removes PostgreSQL's parameters, keys and process ids, and the payloads of notifications.
func withoutParameters(said string) string {
	var alike strings.Builder
	for len(said) > 5 {
		size := 1 + int(binary.BigEndian.Uint32([]byte(said[1:])))
		message := said[:size]
		said = said[size:]
		switch {
		case message[0] == 'S', message[0] == 'A' && strings.Contains(message, "begin"):
		case message[0] == 'A':
			channel, _, _ := strings.Cut(message[9:], "\x00")
			fmt.Fprintf(&alike, "A %s;", channel)
		case message[0] == 'K':
			fmt.Fprintf(&alike, "K %d;", size)
		default:
			fmt.Fprintf(&alike, "%q;", message)
		}
	}
	return alike.String()
}

// TestServers compares what the servers of this package say to a client with what the real ones say, undisturbed.
func TestServers(t *testing.T) {
	nightly(t)
	for _, c := range comparisons {
		t.Run(c.name, func(t *testing.T) {
			address, publish := c.start(t)
			serve, run := c.fresh()
			own := serving(t, serve)
			var ours, real string
			var both sync.WaitGroup
			both.Go(func() { ours = c.said(t, run, own, func(string) error { return nil }) })
			both.Go(func() { real = c.said(t, run, address, publish) })
			both.Wait()
			if ours, real = c.alike(ours), c.alike(real); ours != real {
				t.Errorf("the real server says\n%q\nand ours\n%q", real, ours)
			}
		})
	}
}

// said returns what a server says to the client until all has come. publish makes the events come, if they do not by
// themselves.
func (c comparison) said(t *testing.T, run clientRun, address string, publish func(string) error) string {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	record := new(recorder)
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, func(ctx context.Context, network, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return recorded{conn, record}, err
		}, func(string) {})
	}()
	for n := 0; ctx.Err() == nil && !c.ended(record.text()); time.Sleep(10 * time.Millisecond) {
		text := "begin"
		if strings.Contains(record.text(), c.begun) {
			n++
			text = fmt.Sprint("event ", n)
		}
		if n > events {
			continue
		}
		if err := publish(text); err != nil {
			t.Error(err)
			break
		}
	}
	said := record.text()
	cancel()
	<-ended
	return said
}

// recorder has what was read from connections.
type recorder struct {
	mu   sync.Mutex
	said bytes.Buffer
}

func (r *recorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.said.String()
}

type recorded struct {
	net.Conn
	*recorder
}

func (r recorded) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.said.Write(p[:max(n, 0)])
	return n, err
}

func dialable(address string) func() error {
	return func() error {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}

func startRedis(t *testing.T) (string, func(string) error) {
	address := free(t)
	_, port, _ := net.SplitHostPort(address)
	begin(t, dialable(address), "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "")
	db := redis.NewClient(&redis.Options{Addr: address})
	t.Cleanup(func() { _ = db.Close() })
	return address, func(text string) error { return db.Publish(t.Context(), "events", text).Err() }
}

func startMosquitto(t *testing.T) (string, func(string) error) {
	address := free(t)
	_, port, _ := net.SplitHostPort(address)
	file := filepath.Join(t.TempDir(), "mosquitto.conf")
	must(t, os.WriteFile(file, []byte("listener "+port+" 127.0.0.1\nallow_anonymous true\n"), 0o644))
	begin(t, dialable(address), "mosquitto", "-c", file)
	publisher := mqtt.NewClient(mqtt.NewClientOptions().AddBroker("tcp://" + address).SetClientID("publisher"))
	if token := publisher.Connect(); token.Wait() && token.Error() != nil {
		t.Fatal(token.Error())
	}
	t.Cleanup(func() { publisher.Disconnect(250) })
	return address, func(text string) error {
		token := publisher.Publish("events", 0, false, text)
		token.Wait()
		return token.Error()
	}
}

func startNATS(t *testing.T) (string, func(string) error) {
	address := free(t)
	host, port, _ := net.SplitHostPort(address)
	begin(t, dialable(address), "nats-server", "-a", host, "-p", port)
	publisher, err := nats.Connect("nats://" + address)
	must(t, err)
	t.Cleanup(publisher.Close)
	return address, func(text string) error {
		if err := publisher.Publish("events", []byte(text)); err != nil {
			return err
		}
		return publisher.Flush()
	}
}

func startNotify(t *testing.T) (string, func(string) error) {
	server := startPostgres(t).Server
	db, err := sql.Open("postgres", "postgres://postgres@"+server+"/postgres?sslmode=disable")
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return server, func(text string) error {
		_, err := db.ExecContext(t.Context(), "select pg_notify('events', $1)", text)
		return err
	}
}

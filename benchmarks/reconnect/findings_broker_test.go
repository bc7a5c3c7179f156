package reconnect

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

func natsFirstConnection(t *testing.T) {
	visit(t, runNATS, func(s *server, ended <-chan error, _ func()) {
		if time.Sleep(time.Hour); !hasEnded(ended) || s.connections() != 1 {
			t.Errorf("it has not ended, after %d connections", s.connections())
		}
	}, func(_ *server, conn net.Conn) { _ = conn.Close() })
}

// The first line of a reconnect is none of NATS: the client goes on with another connection, and does not close that one.
func natsOpen(t *testing.T) {
	var err error
	connecting := func(_ *server, conn net.Conn) {
		go func() { _, _ = io.Copy(io.Discard, conn) }()
		_, _ = io.WriteString(conn, "INFO {\"server_id\":\"a\",\"max_payload\":1000,\"proto\":1}\r\nPONG\r\n")
		time.Sleep(time.Minute)
		_ = conn.Close()
	}
	visit(t, runNATS, func(s *server, _ <-chan error, _ func()) {
		if time.Sleep(3 * time.Hour); s.connections() < 3 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write to it returned %v, with %d connections", err, s.connections())
		}
	}, connecting, func(_ *server, conn net.Conn) {
		_, _ = io.WriteString(conn, "hello\r\n")
		time.Sleep(time.Hour)
		_ = conn.SetWriteDeadline(time.Now().Add(time.Hour))
		_, err = io.WriteString(conn, "more\r\n")
	}, connecting)
}

// Each connection delivers a message and is closed a millisecond later: the next one follows at once.
func redisNoWait(t *testing.T) {
	visit(t, runRedis, func(s *server, _ <-chan error, cancel func()) {
		if time.Sleep(100 * time.Millisecond); s.connections() < 90 {
			t.Errorf("%d connections in 100 ms", s.connections())
		}
		cancel()
	}, func(s *server, conn net.Conn) {
		client, proxied := net.Pipe()
		go servingRedis(func() {})(s, proxied)
		go func() { _, _ = io.Copy(client, conn) }()
		for in := bufio.NewReader(client); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if _, err := io.WriteString(conn, line); line == ":1\r\n" && err == nil {
				_, _ = io.WriteString(conn, "*3\r\n$7\r\nmessage\r\n$6\r\nevents\r\n$1\r\na\r\n")
				time.Sleep(time.Millisecond)
				_ = conn.Close()
				_ = client.Close()
			}
		}
	})
}

// servingRedis returns a handler that takes subscriptions, and calls pinged for each PING, without a reply.
func servingRedis(pinged func()) handler {
	return func(_ *server, conn net.Conn) {
		for in := bufio.NewReader(conn); ; {
			words, err := command(in)
			if err != nil {
				return
			}
			reply := "-ERR unknown command\r\n"
			switch strings.ToLower(words[0]) {
			case "client":
				reply = "+OK\r\n"
			case "subscribe":
				reply = "*3\r\n$9\r\nsubscribe\r\n$6\r\nevents\r\n:1\r\n"
			case "ping":
				pinged()
				continue
			}
			_, _ = io.WriteString(conn, reply)
		}
	}
}

func redisSilence(t *testing.T) {
	var pings atomic.Int64
	visit(t, runRedis, func(s *server, ended <-chan error, _ func()) {
		time.Sleep(time.Hour)
		if hasEnded(ended) || s.connections() != 1 || pings.Load() < 1000 {
			t.Errorf("%d connections, %d pings", s.connections(), pings.Load())
		}
	}, servingRedis(func() { pings.Add(1) }))
}

func redisContext(t *testing.T) {
	visit(t, runRedis, func(s *server, ended <-chan error, cancel func()) {
		time.Sleep(time.Second)
		start := time.Now()
		cancel()
		if <-ended; time.Since(start) != 4*time.Second || s.connections() != 1 {
			t.Errorf("it has returned after %v, after %d connections", time.Since(start), s.connections())
		}
	}, silent)
}

func redisMutex(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dialling := make(chan struct{})
	db := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Protocol: 2, DialerRetries: 1, Dialer: func(context.Context, string, string) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	defer db.Close()
	subscription := db.Subscribe(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() { _ = subscription.Subscribe(ctx, "events") })
	<-dialling
	all.Go(func() { _ = subscription.Close() })
	locked("(*PubSub).Close")
	cancel()
}

func redisWaits(t *testing.T) {
	visit(t, runRedis, func(s *server, _ <-chan error, _ func()) {
		time.Sleep(1950 * time.Millisecond)
		if waits := s.waits(); len(waits) != 21 || slices.Max(waits) != 100*time.Millisecond || slices.Min(waits[2:]) != 100*time.Millisecond {
			t.Errorf("waits of %v", waits)
		}
		time.Sleep(time.Second) // until it is connected: its Close waits for a dial
	}, append(make([]handler, 22), servingRedis(func() {}))...)
}

// accepting accepts an MQTT connection, and closes it a second later.
func accepting(_ *server, conn net.Conn) {
	_, _ = conn.Read(make([]byte, 1000))
	_, _ = io.WriteString(conn, "\x20\x02\x00\x00")
	time.Sleep(time.Second)
	_ = conn.Close()
}

func mqttConnect(t *testing.T) {
	visit(t, runMQTT, func(s *server, ended <-chan error, cancel func()) {
		time.Sleep(time.Second)
		cancel()
		if time.Sleep(time.Second); !hasEnded(ended) || s.connections() != 1 {
			t.Errorf("it has not returned, after %d connections", s.connections())
		}
		if time.Sleep(time.Hour); !slices.Equal(s.waits(), []time.Duration{30 * time.Second}) {
			t.Errorf("after it had returned, it has connected again after %v", s.waits())
		}
	}, silent)
}

func mqttWaits(t *testing.T) {
	one, other := waitsOf(t, runMQTT, 0, accepting, nil), waitsOf(t, runMQTT, 1, accepting, nil)
	if !slices.Equal(one, other) || slices.Max(one) != 10*time.Minute {
		t.Errorf("waits of %v and %v", one, other)
	}
}

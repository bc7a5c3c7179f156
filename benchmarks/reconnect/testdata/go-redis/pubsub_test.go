// Package redis shows faults of redis/go-redis v9.23.0: Pub/Sub on connections that are silent, or end at once.
//
//  1. "go-redis periodically sends ping messages to test connection health and re-subscribes if ping can not
//     received for 1 minute" (pubsub.go:570): PING is written (:731), and nobody waits for its reply (:529). Silence
//     is noticed when the kernel gives the connection up. To mend it: reconnect if nothing has come for a minute,
//     not even PONG.
//
//  2. The first failed read after a message, or a subscription, is followed by a dial at once (:766), the others by
//     one after 100 ms, without backoff or a random part; DialerRetryBackoff is not used. In the tests that is a
//     thousand connections a second, and ten. To mend it: internal.RetryBackoff, and no new count before a
//     connection has lasted.
//
//  3. conn dials, and waits for replies, with the mutex held: Close waits for that (:67). To mend it: no mutex
//     meanwhile, and a context that Close cancels.
package redis

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
)

// run runs a subscription's Channel for a time, over connections that are served, or refused, and returns when it
// dialled.
func run(t *testing.T, lasts time.Duration, serve func(c net.Conn)) (dials []time.Time) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var open []net.Conn
		over := false
		db := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Protocol: 2, Dialer: func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			if !over {
				dials = append(dials, time.Now())
			}
			if serve == nil || over {
				return nil, syscall.ECONNREFUSED
			}
			client, server := net.Pipe()
			open = append(open, server)
			go serve(server)
			return client, nil
		}})
		subscription := db.Subscribe(t.Context(), "events")
		messages := subscription.Channel()
		time.Sleep(lasts)
		mu.Lock()
		over = true
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		time.Sleep(time.Minute) // Close waits for a mutex, in which no virtual time passes
		_, _ = subscription.Close(), db.Close()
		for range messages {
		}
		time.Sleep(time.Minute)
	})
	return dials
}

// subscribe takes a subscription, and answers no PING. It returns when the connection has ended, or at once if it
// should.
func subscribe(c net.Conn, returns bool) {
	for in := bufio.NewScanner(c); in.Scan(); {
		switch strings.ToLower(in.Text()) {
		case "hello":
			_, _ = io.WriteString(c, "-ERR unknown command\r\n")
		case "client":
			_, _ = io.WriteString(c, "+OK\r\n")
		case "subscribe":
			in.Scan()
			in.Scan() // the channel's name
			_, _ = io.WriteString(c, "*3\r\n$9\r\nsubscribe\r\n$6\r\nevents\r\n:1\r\n")
			if returns {
				return
			}
		}
	}
}

func TestAPingWithoutAReply(t *testing.T) {
	if dials := run(t, time.Hour, func(c net.Conn) { subscribe(c, false) }); len(dials) == 1 {
		t.Error("the server has answered no PING for an hour, and the client has not connected again")
	}
}

func TestWaitAfterAConnectionThatEndsAtOnce(t *testing.T) {
	dials := run(t, time.Second, func(c net.Conn) {
		subscribe(c, true)
		time.Sleep(time.Millisecond)
		_ = c.Close()
	})
	if len(dials) > 100 {
		t.Errorf("%d connections in a second: each was closed a millisecond after it was subscribed", len(dials))
	}
}

func TestBackoff(t *testing.T) {
	if dials := run(t, time.Hour, nil); len(dials) > 10_000 {
		t.Errorf("%d attempts in an hour to connect to a server that refuses", len(dials))
	}
}

func TestCloseWhileItDials(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	dialling := make(chan struct{}, 100)
	db := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: func(dial context.Context, _, _ string) (net.Conn, error) {
		dialling <- struct{}{}
		select { // a host that does not answer
		case <-dial.Done():
		case <-ctx.Done():
		}
		return nil, syscall.ETIMEDOUT
	}})
	defer db.Close()
	subscription := db.Subscribe(t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = subscription.Subscribe(t.Context(), "events") })
	<-dialling
	closed := make(chan error, 1)
	all.Go(func() { closed <- subscription.Close() })
	select {
	case <-closed:
	case <-time.After(3 * time.Second):
		t.Error("Close has not returned in 3s, while the subscription connects to a host that does not answer")
	}
	cancel()
	all.Wait()
}

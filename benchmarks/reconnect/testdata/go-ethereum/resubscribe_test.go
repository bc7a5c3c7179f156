// Package ethereum shows faults of ethereum/go-ethereum v1.17.10: Resubscribe does not wait after a subscription that
// was established.
//
//  1. "ResubscribeErr applies backoff between calls to fn. The time between calls is adapted based on the error
//     rate" (event/subscription.go:115). It waits only after calls that fail (:189): if a node, or a proxy before
//     it, takes the subscription and then ends the connection, fn is called at once, a thousand times a second in
//     the test. To mend it: backoffWait in loop too, if the subscription has lasted for less than backoffMax.
//
//  2. The backoff has no random part (:215): when a node restarts, all its clients come at the same moments.
//
//  3. rpc.Dial, which has no context, waits without an end for a server that accepts and is silent: the default of
//     10 s is for reconnects alone (rpc/client.go:628). To mend it: the same in newClient (:233).
//
//  4. ClientSubscription.Unsubscribe waits for the reply to eth_unsubscribe for 10 s, if the connection is silent
//     (rpc/subscription.go:378), and so does an Unsubscribe of Resubscribe. To mend it: do not wait for the reply.
package ethereum

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/rpc"
	"github.com/gorilla/websocket"
)

func TestWaitAfterASubscriptionThatFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := event.Resubscribe(10*time.Second, func(context.Context) (event.Subscription, error) {
			calls++
			return event.NewSubscription(func(<-chan struct{}) error {
				time.Sleep(time.Millisecond)
				return errors.New("connection reset by peer")
			}), nil
		})
		time.Sleep(time.Second)
		s.Unsubscribe()
		if calls > 100 {
			t.Errorf("%d calls in a second: each subscription was established and failed a millisecond later", calls)
		}
	})
}

func TestJitter(t *testing.T) {
	waits := func(after time.Duration) (all []time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(after)
			last := time.Now()
			s := event.Resubscribe(10*time.Second, func(context.Context) (event.Subscription, error) {
				all = append(all, time.Since(last))
				last = time.Now()
				return nil, errors.New("connection refused")
			})
			time.Sleep(time.Minute)
			s.Unsubscribe()
		})
		return all
	}
	if one, other := waits(0), waits(time.Second); slices.Equal(one, other) {
		t.Errorf("two programs whose connections are refused both wait for exactly %v", one)
	}
}

// node accepts WebSockets and answers their first messages.
func node(c net.Conn, answers ...string) {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil || len(answers) == 0 {
		_, _ = io.Copy(io.Discard, c)
		return
	}
	key := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(key[:]))
	for _, text := range answers {
		_, _ = c.Read(make([]byte, 4096))
		_, _ = c.Write(append([]byte{0x81, byte(len(text))}, text...))
	}
	_, _ = io.Copy(io.Discard, c)
}

func dialer(answers ...string) (websocket.Dialer, func()) {
	client, server := net.Pipe()
	go node(server, answers...)
	return websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return client, nil }}, func() { _ = server.Close() }
}

func TestDialOfASilentServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, end := dialer()
		dialled := make(chan error, 1)
		go func() {
			_, err := rpc.DialOptions(context.Background(), "ws://127.0.0.1", rpc.WithWebsocketDialer(d))
			dialled <- err
		}()
		time.Sleep(time.Hour)
		if len(dialled) == 0 {
			t.Error("the first dial has not returned in an hour; a reconnect has a timeout of 10s")
		}
		end()
		<-dialled
	})
}

func TestUnsubscribeOnASilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, end := dialer(`{"jsonrpc":"2.0","id":1,"result":"0x1"}`)
		defer end()
		client, err := rpc.DialOptions(t.Context(), "ws://127.0.0.1", rpc.WithWebsocketDialer(d))
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		s, err := client.EthSubscribe(t.Context(), make(chan any), "newHeads")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		if s.Unsubscribe(); time.Since(start) > time.Second {
			t.Errorf("Unsubscribe has returned after %v", time.Since(start))
		}
	})
}

// Package slack shows faults of slack-go/slack v0.35.0: Socket Mode and connections that do not answer, or end at once.
//
//  1. RunContext asks apps.connections.open without a timeout: if the answer does not come, it waits until its
//     context ends, without an event. Open has a timeout of 10 s, run calls OpenContext with the caller's context,
//     and the default http.Client has none either (socket_mode_managed_conn.go:284, slack.go:195). To mend it:
//     context.WithTimeout(ctx, websocketDefaultTimeout) around that call.
//
//  2. After a connection that was made, RunContext connects again at once; the backoff is for attempts that fail
//     (socket_mode_managed_conn.go:46, :208). If the server, or a proxy before it, accepts and closes, that is a
//     loop without a wait: 1001 connections in a second. To mend it: one Backoff for the loop of RunContext, with
//     Reset after a connection that has lived for a minute, say.
//
//  3. "exponential backoff wait time with jitter" (socket_mode_managed_conn.go:206) has no jitter, as Backoff.Jitter
//     is 0: after an outage all clients come at the same moments. To mend it: set Jitter, in proportion to the wait.
package slack

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"
)

// run runs Socket Mode for a time, over connections that serve answers, and returns when it dialled.
func run(t *testing.T, after, lasts time.Duration, serve func(net.Conn)) (dials []time.Time) {
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(after)
		var mu sync.Mutex
		var open []net.Conn
		dial := func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			dials = append(dials, time.Now())
			if serve == nil {
				return nil, syscall.ECONNREFUSED
			}
			client, server := net.Pipe()
			open = append(open, server)
			go serve(server)
			return client, nil
		}
		transport := &http.Transport{DialContext: dial}
		defer transport.CloseIdleConnections()
		api := slack.New("xoxb", slack.OptionAppLevelToken("xapp"), slack.OptionAPIURL("http://127.0.0.1/"), slack.OptionHTTPClient(&http.Client{Transport: transport}))
		socket := socketmode.New(api, socketmode.OptionDialer(&websocket.Dialer{NetDialContext: dial, HandshakeTimeout: 45 * time.Second}))
		ctx, cancel := context.WithTimeout(t.Context(), lasts)
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- socket.RunContext(ctx) }()
		for {
			select {
			case <-socket.Events:
			case <-ended:
				mu.Lock()
				defer mu.Unlock()
				for _, c := range open {
					_ = c.Close()
				}
				return
			}
		}
	})
	return dials
}

func TestOpenWithoutAnAnswer(t *testing.T) {
	dials := run(t, 0, time.Hour, func(c net.Conn) { _, _ = io.Copy(io.Discard, c) })
	if len(dials) < 2 {
		t.Errorf("apps.connections.open has had no answer for an hour; RunContext has not asked again")
	}
}

func TestWaitAfterAConnectionThatEndsAtOnce(t *testing.T) {
	dials := run(t, 0, time.Second, func(c net.Conn) {
		defer c.Close()
		for in := bufio.NewReader(c); ; {
			r, err := http.ReadRequest(in)
			switch {
			case err != nil:
				return
			case r.Method == http.MethodPost:
				text := `{"ok":true,"url":"ws://127.0.0.1/link"}`
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			default:
				key := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
				fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(key[:]))
				time.Sleep(time.Millisecond)
				return
			}
		}
	})
	if len(dials) > 100 {
		t.Errorf("%d connections in a second: each was accepted and closed a millisecond later", len(dials))
	}
}

func TestJitter(t *testing.T) {
	waits := func(after time.Duration) (all []time.Duration) {
		dials := run(t, after, time.Hour, nil)
		for i := 1; i < len(dials); i++ {
			all = append(all, dials[i].Sub(dials[i-1]))
		}
		return all
	}
	if one, other := waits(0), waits(time.Second); slices.Equal(one, other) {
		t.Errorf("two clients that are refused both wait for exactly %v", one)
	}
}

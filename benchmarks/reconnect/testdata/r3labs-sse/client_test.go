// Package r3labs shows faults of r3labs/sse v2.10.0: half an event, an ended context, and a break after a quarter of an
// hour.
//
//  1. If a connection breaks within an event, what has come of it is delivered (event.go:50), and its id stored
//     (client.go:238): the next request asks for what follows, and the event is lost. The specification: "Once the
//     end of the file is reached, any pending data must be discarded". To mend it: discard it.
//
//  2. SubscribeWithContext tries to connect for up to 15 minutes after its context has ended (client.go:118), as
//     #131 says. To mend it: backoff.WithContext, as in #146.
//
//  3. MaxElapsedTime, 15 minutes, begins with the first connection: the first break after that is final
//     (client.go:118). To mend it: Reset when a connection that worked has ended.
package r3labs

import (
	"bufio"
	"context"
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

	"github.com/r3labs/sse/v2"
)

// events is an answer's header and a part of its body. The connection may break after that.
func events(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n", len(body), body)
}

// run runs a client until it has ended or a time has passed. Each connection is served with its number and its
// request's Last-Event-ID, or refused. It returns the data of all events, and whether the client has ended.
func run(t *testing.T, ctxEnds, lasts time.Duration, serve func(n int, lastEventID string, c net.Conn)) (got []string, ended bool) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var open []net.Conn
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			mu.Lock()
			defer mu.Unlock()
			if serve == nil {
				return nil, syscall.ECONNREFUSED
			}
			client, server := net.Pipe()
			open = append(open, server)
			go func(n int) {
				if r, err := http.ReadRequest(bufio.NewReader(server)); err == nil {
					serve(n, r.Header.Get("Last-Event-ID"), server)
				}
			}(len(open))
			return client, nil
		}}
		client := sse.NewClient("http://127.0.0.1/")
		client.Connection.Transport = transport
		ctx, cancel := context.WithTimeout(t.Context(), ctxEnds)
		defer cancel()
		returned := make(chan error, 1)
		go func() {
			returned <- client.SubscribeRawWithContext(ctx, func(e *sse.Event) {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, string(e.Data))
			})
		}()
		time.Sleep(lasts)
		mu.Lock()
		ended = len(returned) > 0
		serve = nil
		for _, c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		cancel()
		time.Sleep(30 * 24 * time.Hour)
		transport.CloseIdleConnections()
	})
	return got, ended
}

func TestHalfAnEvent(t *testing.T) {
	got, _ := run(t, time.Hour, time.Minute, func(n int, lastEventID string, c net.Conn) {
		if n == 1 {
			_, _ = io.WriteString(c, events("id: 1\ndata: eve"))
			_ = c.Close()
		} else if lastEventID == "" { // the server sends what follows an id
			_, _ = io.WriteString(c, events("id: 1\ndata: event 1\n\n"))
		}
	})
	if !slices.Equal(got, []string{"event 1"}) {
		t.Errorf("a connection broke after \"id: 1\\ndata: eve\": the client delivered %q, and skips event 1", got)
	}
}

func TestTheContextEndsIt(t *testing.T) {
	if _, ended := run(t, time.Minute, 11*time.Minute, nil); !ended {
		t.Error("the context ended ten minutes ago, while connections were refused, and the client has not returned")
	}
}

func TestABreakAfterAQuarterOfAnHour(t *testing.T) {
	got, ended := run(t, 24*time.Hour, 17*time.Minute, func(n int, _ string, c net.Conn) {
		_, _ = io.WriteString(c, events(fmt.Sprintf("id: %d\ndata: event %[1]d\n\n", n)))
		time.Sleep(16 * time.Minute)
		_ = c.Close()
	})
	if ended {
		t.Errorf("the first connection worked for 16 minutes and broke: the client has given up, after %q", got)
	}
}

// Package mcp shows faults of modelcontextprotocol/go-sdk v1.8.0: a Last-Event-ID that is forgotten, and calls that
// outlive their contexts.
//
//  1. If a stream that was resumed ends without an event, the next request has no Last-Event-ID
//     (mcp/streamable.go:2523, :2702): what was sent meanwhile is lost, or all is repeated. The protocol asks for
//     "the last event ID it received". typescript-sdk#2499 is the same. To mend it: connectSSE with prevLastEventID.
//
//  2. Connect requests the stream with a context of its own (:2169): if the server does not answer, it does not
//     return when its context ends. To mend it: request the stream in a goroutine.
//
//  3. Whoever calls while the session closes waits for a mutex, and that for the reply to DELETE, up to 5 s
//     (internal/jsonrpc2/conn.go:121). To mend it: close without the mutex.
package mcp

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const version = "2025-11-25"

// server is a transport to a server that accepts a session, and answers requests for its stream and for its end with
// functions.
type server struct {
	stream func(r *http.Request) string // "" for no answer
	ends   func()
}

func (s server) dial(context.Context, string, string) (net.Conn, error) {
	client, conn := net.Pipe()
	go func() {
		for in := bufio.NewReader(conn); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			body, _ := io.ReadAll(r.Body)
			answer := "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
			switch {
			case r.Method == http.MethodGet:
				answer = s.stream(r)
			case r.Method == http.MethodDelete:
				s.ends()
			case bytes.Contains(body, []byte(`"initialize"`)):
				text := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"server","version":"v1"}}}`, version)
				answer = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nMcp-Session-Id: a\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			}
			_, _ = io.WriteString(conn, answer)
		}
	}()
	return client, nil
}

// connect connects a client to the server. A connection serves one request.
func (s server) connect(ctx context.Context) (*mcp.ClientSession, error) {
	client := &http.Client{Transport: &http.Transport{DialContext: s.dial, DisableKeepAlives: true}}
	return mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1"}, nil).Connect(ctx,
		&mcp.StreamableClientTransport{Endpoint: "http://127.0.0.1/", HTTPClient: client}, &mcp.ClientSessionOptions{ProtocolVersion: version})
}

func TestLastEventIDOfAStreamWithoutAnEvent(t *testing.T) {
	var mu sync.Mutex
	var ids []string
	s := server{ends: func() {}, stream: func(r *http.Request) string {
		mu.Lock()
		defer mu.Unlock()
		const header = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
		switch ids = append(ids, r.Header.Get("Last-Event-ID")); len(ids) {
		case 1:
			return header + "d\r\nid: 7\ndata:\n\n\r\n0\r\n\r\n"
		case 2:
			return header + "0\r\n\r\n"
		}
		return header
	}}
	synctest.Test(t, func(t *testing.T) {
		session, err := s.connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		_ = session.Close()
	})
	if !slices.Equal(ids, []string{"", "7", "7"}) {
		t.Errorf("a stream ended after the event 7, and the next one without an event; the Last-Event-IDs of the requests are %q", ids)
	}
}

func TestConnectEndsWithItsContext(t *testing.T) {
	released := make(chan struct{})
	defer close(released)
	s := server{ends: func() {}, stream: func(*http.Request) string { <-released; return "" }}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := s.connect(ctx)
		ended <- err
	}()
	select {
	case <-ended:
	case <-time.After(3 * time.Second):
		t.Error("the server does not answer the request for its stream: Connect has not returned, 3s after the end of its context")
	}
}

func TestACallDuringCloseEndsWithItsContext(t *testing.T) {
	ending, released := make(chan struct{}), make(chan struct{})
	s := server{
		stream: func(*http.Request) string { return "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n" },
		ends:   func() { close(ending); <-released },
	}
	session, err := s.connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	all.Go(func() { _ = session.Close() })
	<-ending
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	called := make(chan error, 1)
	all.Go(func() { called <- session.Ping(ctx, nil) })
	select {
	case <-called:
	case <-time.After(3 * time.Second):
		t.Error("a server does not answer the DELETE of Close: a Ping has not returned, 3s after the end of its context")
	}
	close(released)
	all.Wait()
}

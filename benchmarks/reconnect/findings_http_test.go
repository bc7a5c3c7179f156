package reconnect

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/launchdarkly/eventsource"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func r3labsHalfAnEvent(t *testing.T) {
	visit(t, runR3labs, func(s *server, _ <-chan error, _ func()) {
		time.Sleep(time.Minute)
		if s.connections() != 2 || !slices.Equal(s.values, []string{"1 eve"}) || s.headers[1].Get("Last-Event-ID") != "1" {
			t.Errorf("it delivered %q, and asked for what follows %q", s.values, s.headers[1].Get("Last-Event-ID"))
		}
	}, sending(eventStream+chunk("id: 1\ndata: eve"), 0), sending(eventStream, time.Hour))
}

func r3labsContext(t *testing.T) {
	visit(t, runR3labs, func(s *server, ended <-chan error, cancel func()) {
		time.Sleep(time.Minute)
		cancel()
		if time.Sleep(10 * time.Minute); hasEnded(ended) {
			t.Error("it has ended 10 minutes after the end of its context")
		}
		if time.Sleep(10 * time.Minute); !hasEnded(ended) {
			t.Error("it has not ended 20 minutes after the end of its context")
		}
	}, nil)
}

func r3labsFifteenMinutes(t *testing.T) {
	visit(t, runR3labs, func(s *server, ended <-chan error, _ func()) {
		if time.Sleep(16*time.Minute - 1); hasEnded(ended) {
			t.Error("it has ended before the connection was cut")
		}
		if time.Sleep(time.Minute); !hasEnded(ended) || s.connections() != 1 {
			t.Errorf("it has not ended, after %d connections", s.connections())
		}
	}, sending(eventStream+chunk("id: 1\ndata: event 1\n\n"), 16*time.Minute))
}

// closingAfter returns an error handler that closes the stream at the n-th error, and counts them.
func closingAfter(n int, errs *int) eventsource.StreamErrorHandler {
	return func(error) eventsource.StreamErrorHandlerResult {
		*errs++
		return eventsource.StreamErrorHandlerResult{CloseNow: *errs == n}
	}
}

func eventSourceHeader(t *testing.T) { staysSilent(eventSource(closingAfter(1, new(int))), silent)(t) }

func eventSourceContext(t *testing.T) {
	errs := 0
	visit(t, eventSource(closingAfter(100, &errs)), func(s *server, ended <-chan error, cancel func()) {
		cancel()
		if err := <-ended; errs != 100 || !errors.Is(err, context.Canceled) {
			t.Errorf("it has returned %v after %d attempts", err, errs)
		}
	}, nil)
}

func goSSELongestWait(t *testing.T) {
	if longest := slices.Max(waitsOf(t, runGoSSE, 0, nil)); longest < 10*time.Minute {
		t.Errorf("the longest wait in two hours is %v", longest)
	}
}

func retryableHTTPBody(t *testing.T) {
	visit(t, runRetryableHTTP, func(s *server, ended <-chan error, _ func()) {
		time.Sleep(time.Hour)
		if err := <-ended; !errors.Is(err, io.ErrUnexpectedEOF) || s.connections() != 1 || !slices.Equal(s.values, []string{"line 1\n"}) {
			t.Errorf("%v, after %d connections, with %q", err, s.connections(), s.values)
		}
	}, sending("HTTP/1.1 200 OK\r\nContent-Length: 84\r\n\r\nline 1\nli", 0))
}

// servingMCP returns a handler that makes a session, and writes a text to the client that asks for the stream.
func servingMCP(text string) handler {
	return streamingMCP(func(*http.Request) string { return text })
}

func streamingMCP(stream func(*http.Request) string) handler {
	return func(s *server, conn net.Conn) {
		for in := bufio.NewReader(conn); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(conn, stream(r))
				continue
			}
			body, _ := io.ReadAll(r.Body)
			reply := "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
			if bytes.Contains(body, []byte(`"initialize"`)) {
				text := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"server","version":"v1.0.0"}}}`, mcpVersion)
				reply = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(text), text)
			}
			_, _ = io.WriteString(conn, reply)
		}
	}
}

func mcpConnect(t *testing.T) {
	visit(t, runMCP, func(s *server, ended <-chan error, _ func()) {
		if time.Sleep(time.Hour); !hasEnded(ended) || s.connections() != 1 {
			t.Errorf("it has not ended, after %d connections", s.connections())
		}
	}, sending("", 0))
}

// The stream ends after an event, and then without one: after that the client does not send the event's id.
func mcpSecond(t *testing.T) {
	var ids []string
	visit(t, runMCP, func(*server, <-chan error, func()) {
		if time.Sleep(time.Minute); !slices.Equal(ids, []string{"", "1", ""}) {
			t.Errorf("the ids are %q", ids)
		}
	}, streamingMCP(func(r *http.Request) string {
		switch ids = append(ids, r.Header.Get("Last-Event-ID")); len(ids) {
		case 1:
			return eventStream + chunk("id: 1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":\"a\"}}\n\n") + "0\r\n\r\n"
		case 2:
			return eventStream + "0\r\n\r\n"
		}
		return eventStream
	}))
}

func mcpContext(t *testing.T) {
	visit(t, runMCP, func(s *server, ended <-chan error, cancel func()) {
		time.Sleep(time.Minute)
		cancel()
		if time.Sleep(time.Hour); hasEnded(ended) {
			t.Error("it has returned")
		}
	}, servingMCP(""))
}

// roundTripper is an http.RoundTripper.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// While Close waits for the reply to its DELETE, another call of the session waits for a mutex.
func mcpMutex(t *testing.T) {
	var session *mcp.ClientSession
	var others sync.WaitGroup
	reply := func(status int, body string) (*http.Response, error) {
		return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {"application/json"}, "Mcp-Session-Id": {"session"}},
			Body: io.NopCloser(strings.NewReader(body))}, nil
	}
	client := &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		switch r.Method {
		case http.MethodGet:
			return reply(http.StatusMethodNotAllowed, "")
		case http.MethodDelete:
			others.Go(func() { _ = session.Ping(t.Context(), nil) })
			locked("jsonrpc2.(*Connection).updateInFlight")
			return reply(http.StatusOK, "")
		}
		if body, _ := io.ReadAll(r.Body); bytes.Contains(body, []byte(`"initialize"`)) {
			return reply(http.StatusOK, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"server","version":"v1.0.0"}}}`, mcpVersion))
		}
		return reply(http.StatusAccepted, "")
	})}
	var err error
	session, err = mcp.NewClient(&mcp.Implementation{Name: "client", Version: "v1.0.0"}, nil).Connect(t.Context(),
		&mcp.StreamableClientTransport{Endpoint: "http://server/mcp", HTTPClient: client}, &mcp.ClientSessionOptions{ProtocolVersion: mcpVersion})
	if err != nil {
		t.Fatal(err)
	}
	_ = session.Close()
	others.Wait()
}

package reconnect

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"testing"
	"time"
)

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
	return func(s *server, conn net.Conn) {
		for in := bufio.NewReader(conn); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			if r.Method == http.MethodGet {
				_, _ = io.WriteString(conn, text)
				continue
			}
			body, _ := io.ReadAll(r.Body)
			reply := "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
			if bytes.Contains(body, []byte(`"initialize"`)) {
				result := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":%q,"capabilities":{},"serverInfo":{"name":"server","version":"v1.0.0"}}}`, mcpVersion)
				reply = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(result), result)
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

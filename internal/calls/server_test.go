package calls

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
)

func TestMain(m *testing.M) { check.Main(m) }

// serving starts a server on loopback. It ends with the test.
func serving(t *testing.T, s *Server) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	ctx, stop := context.WithCancel(t.Context())
	var task sync.WaitGroup
	task.Go(func() { s.Serve(ctx, l) })
	t.Cleanup(func() {
		stop()
		task.Wait()
	})
	return l.Addr().String()
}

func dialTo(t *testing.T, addr string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	check.Must(t, err)
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	return c
}

const get = "GET /price HTTP/1.1\r\nHost: x\r\n\r\n"

var dateLine = regexp.MustCompile(`Date: [^\r]*\r\n`)

// What the first request gets in each way, to the byte, and what becomes of its connection.
func TestServer_Answers(t *testing.T) {
	const plain = "Content-Type: text/plain; charset=utf-8\r\n"
	for _, test := range []struct {
		name, request, want string
		end                 error // nil: closed by FIN; errOpen: the next request succeeds on it
	}{
		{"503 twice", get, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 24\r\n" + plain + "\r\n503 Service Unavailable\n", errOpen},
		{"404", get, "HTTP/1.1 404 Not Found\r\nContent-Length: 14\r\n" + plain + "\r\n404 Not Found\n", errOpen},
		{"Retry-After 3 s (429)", get, "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 22\r\n" + plain + "Retry-After: 3\r\n\r\n429 Too Many Requests\n", errOpen},
		{"Retry-After soon", get, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 24\r\n" + plain + "Retry-After: soon\r\n\r\n503 Service Unavailable\n", errOpen},
		{kept, get, "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 24\r\n" + plain + "\r\n503 Service Unavailable\n", nil},
		{"closed", get, "", nil},
		{"reset", get, "", syscall.ECONNRESET},
		{"answer cut, closed", get, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n" + plain + "\r\n12.", nil},
		{"answer cut, reset", get, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n" + plain + "\r\n12.", syscall.ECONNRESET},
		{"answer cut, in chunks", get, "HTTP/1.1 200 OK\r\n" + plain + "Transfer-Encoding: chunked\r\n\r\n3\r\n12.\r\n", nil},
		{Undisturbed, get, "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n" + plain + "\r\n12.50\n", errOpen},
		{Undisturbed, strings.Replace(get, "\r\n\r\n", "\r\nConnection: close\r\n\r\n", 1), "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 6\r\n" + plain + "\r\n12.50\n", nil},
		{Undisturbed, "PUT /price HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n1",
			"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 6\r\n" + plain + "\r\n12.50\n", errOpen},
	} {
		w := Way{Name: Undisturbed}
		if test.name != Undisturbed {
			w = way(test.name)
		}
		c := dialTo(t, serving(t, NewServer(w, "GET /price", "12.50\n", time.Millisecond)))
		_, err := io.WriteString(c, test.request)
		check.Must(t, err)
		in := bufio.NewReader(c)
		var got []byte
		for err == nil && (test.end != errOpen || !dateLine.Match(got) || len(dateLine.ReplaceAll(got, nil)) < len(test.want)) {
			var b byte
			if b, err = in.ReadByte(); err == nil {
				got = append(got, b)
			}
		}
		if text := dateLine.ReplaceAllString(string(got), ""); text != test.want {
			t.Errorf("%s: got %q, want %q", test.name, text, test.want)
		}
		switch {
		case test.end == errOpen:
			_, _ = io.WriteString(c, get)
			if resp, err := http.ReadResponse(in, nil); err != nil {
				t.Errorf("%s: the connection has ended: %v", test.name, err)
			} else {
				_ = resp.Body.Close()
			}
		case test.end == nil && err != io.EOF, test.end != nil && !errors.Is(err, test.end):
			t.Errorf("%s: it ends with %v, want %v", test.name, err, test.end)
		}
	}
}

var errOpen = errors.New("it goes on")

// A request on a connection that the server has closed is answered by a reset.
func TestServer_Stale(t *testing.T) {
	s := NewServer(way(kept), "GET /price", "x", time.Millisecond)
	c := dialTo(t, serving(t, s))
	_, _ = io.WriteString(c, get)
	_, err := io.ReadAll(c)
	check.Must(t, err)
	_, _ = io.WriteString(c, get)
	if _, err := c.Read(make([]byte, 1)); !errors.Is(err, syscall.ECONNRESET) && err != io.EOF {
		t.Errorf("got %v", err)
	}
	var r Run
	if s.Fill(&r); len(r.requests) != 1 {
		t.Errorf("%d requests have come", len(r.requests))
	}
}

// The record has what a request was and when it was over, and which connections are open.
func TestServer_Record(t *testing.T) {
	s := NewServer(way(Silence), "POST /orders", "x", time.Millisecond)
	addr := serving(t, s)
	c := dialTo(t, addr)
	_, _ = io.WriteString(c, "GET /token HTTP/1.1\r\nHost: x\r\n\r\n")
	in := bufio.NewReader(c)
	if resp, err := http.ReadResponse(in, nil); err != nil {
		t.Fatal(err)
	} else {
		_ = resp.Body.Close()
	}
	_, _ = io.WriteString(c, "POST /orders HTTP/1.1\r\nHost: x\r\nX-Idempotency-Key: k\r\nContent-Length: 1\r\n\r\na")
	for s.Look().Requests == 0 {
		<-s.News
	}
	if seen := s.Look(); seen.First.IsZero() || !seen.Answered.IsZero() || seen.Hot || s.Open() != 1 {
		t.Errorf("got %+v, %d open", seen, s.Open())
	}
	before := time.Now()
	_ = c.Close()
	for s.Open() > 0 {
		<-s.News
	}
	second := dialTo(t, addr)
	_, _ = io.WriteString(second, "POST /orders HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nb")
	if resp, err := http.ReadResponse(bufio.NewReader(second), nil); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(err)
	}
	s.EndIdle()
	var r Run
	s.Fill(&r)
	if fmt.Sprint(r.Names) != "[GET /token POST /orders POST /orders]" || len(r.requests) != 2 || r.served != 1 {
		t.Fatalf("got %+v", r)
	}
	if q, next := r.requests[0], r.requests[1]; q.over.Before(before) || q.key != "k" || q.Others != 1 || q.Conn != 1 || next.Conn != 2 || q.body == next.body || !next.At.After(q.over) {
		t.Errorf("got %+v, then %+v", q, next)
	}
	if _, err := second.Read(make([]byte, 100)); err != nil && err != io.EOF {
		t.Errorf("got %v", err)
	}
	if lines := strings.Join(s.Lines(), "\n"); !strings.Contains(lines, "GET /token on connection 1") || !strings.Contains(lines, "closes connection 1") {
		t.Errorf("got %s", lines)
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 999: "999ns", 1234567: "1.23ms", 1012 * ms: "1.01s", 12345 * ms: "12.3s", 61 * time.Second: "1m1s", time.Hour: "1h", 2 * time.Minute: "2m", 90 * time.Minute: "1h30m",
	} {
		if got := Short(d); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}

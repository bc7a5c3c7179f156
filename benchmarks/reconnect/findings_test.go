package reconnect

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// TestFindings shows each finding of the table that has a note without reconnecttest.Check, by a program of its own.
func TestFindings(t *testing.T) {
	for _, s := range subjects {
		for _, n := range s.notes {
			t.Run(fmt.Sprintf("%s/%s", s.name, n.kind), n.show)
		}
	}
}

// handler serves a connection.
type handler func(s *server, conn net.Conn)

// server is what a client of a finding dials. Each connection has its handler, the last one is for all further ones. A
// connection without a handler is refused.
type server struct {
	handlers []handler

	mu      sync.Mutex
	dials   []time.Time
	conns   []net.Conn
	values  []string
	headers []http.Header
}

// visit runs a client in a bubble against a server, and then f. After f all connections are closed, and a month passes
// in which the client may end.
func visit(t *testing.T, run clientRun, f func(s *server, ended <-chan error, cancel func()), handlers ...handler) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s := new(server)
		s.handlers = handlers
		ended := make(chan error, 1)
		go func() { ended <- run(ctx, s.dial, s.got) }()
		f(s, ended, cancel)
		cancel()
		s.close()
		time.Sleep(30 * 24 * time.Hour)
	})
}

func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dials = append(s.dials, time.Now())
	h := s.handlers[0]
	if len(s.handlers) > 1 {
		s.handlers = s.handlers[1:]
	}
	if h == nil {
		return nil, syscall.ECONNREFUSED
	}
	client, server := net.Pipe()
	s.conns = append(s.conns, server)
	go h(s, server)
	return client, nil
}

func (s *server) got(v string) { s.mu.Lock(); defer s.mu.Unlock(); s.values = append(s.values, v) }

func (s *server) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handlers = []handler{nil}
	for _, c := range s.conns {
		_ = c.Close()
	}
}

// connections returns how many connections there were.
func (s *server) connections() int { s.mu.Lock(); defer s.mu.Unlock(); return len(s.dials) }

// waits returns the times between the connections.
func (s *server) waits() (all []time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := 1; i < len(s.dials); i++ {
		all = append(all, s.dials[i].Sub(s.dials[i-1]))
	}
	return all
}

// request reads an HTTP request, and records its header.
func (s *server) request(conn net.Conn) bool {
	r, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return false
	}
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.headers = append(s.headers, r.Header)
	return true
}

// eventStream is the header of a stream of events, which ends with a length of 0: without that it is cut.
const eventStream = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"

// sending returns a handler that reads a request, writes a text, and closes the connection after a time.
func sending(text string, closes time.Duration) handler {
	return func(s *server, conn net.Conn) {
		if s.request(conn) {
			_, _ = io.WriteString(conn, text)
		}
		time.Sleep(closes)
		_ = conn.Close()
	}
}

// silent reads whatever comes, and writes nothing.
func silent(_ *server, conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }

// hasEnded reports whether the client has ended.
func hasEnded(ended <-chan error) bool {
	synctest.Wait()
	return len(ended) > 0
}

// staysSilent shows that a client whose connection falls silent does not connect again in a day.
func staysSilent(run clientRun, handlers ...handler) func(t *testing.T) {
	return func(t *testing.T) {
		visit(t, run, func(s *server, ended <-chan error, _ func()) {
			time.Sleep(time.Second)
			before := s.connections()
			if time.Sleep(24 * time.Hour); hasEnded(ended) || s.connections() != before {
				t.Errorf("it has noticed: %d connections, then %d", before, s.connections())
			}
		}, handlers...)
	}
}

// endsAtFirst shows a client that ends when its first connection does.
func endsAtFirst(run clientRun) func(t *testing.T) {
	return func(t *testing.T) {
		visit(t, run, func(s *server, ended <-chan error, _ func()) {
			if time.Sleep(time.Hour); !hasEnded(ended) || s.connections() != 1 {
				t.Errorf("it has not ended, after %d connections", s.connections())
			}
		}, func(_ *server, conn net.Conn) { _ = conn.Close() })
	}
}

// equalWaits shows that the waits of two clients are equal.
func equalWaits(run clientRun, handlers ...handler) func(t *testing.T) {
	return func(t *testing.T) {
		one, two := waitsOf(t, run, 0, handlers...), waitsOf(t, run, time.Hour+time.Millisecond, handlers...)
		if n := min(len(one), len(two)); n < 10 || !slices.Equal(one[:n], two[:n]) {
			t.Errorf("%v and %v", one, two)
		}
	}
}

// waitsOf returns the waits of a client that begins after a time, in two hours.
func waitsOf(t *testing.T, run clientRun, after time.Duration, handlers ...handler) (waits []time.Duration) {
	t.Helper()
	visit(t, func(ctx context.Context, dial dialFunc, got func(string)) error {
		time.Sleep(after)
		return run(ctx, dial, got)
	}, func(s *server, _ <-chan error, _ func()) {
		time.Sleep(2 * time.Hour)
		waits = s.waits()
	}, handlers...)
	return waits
}

// results are those of the tests in testdata. Each fails as long as a client has the fault that its package's comment
// describes.
var results = sync.OnceValues(func() (map[string]string, error) {
	folders, err := filepath.Glob("testdata/*")
	if err != nil {
		return nil, err
	}
	for i, folder := range folders {
		folders[i] = "./" + filepath.ToSlash(folder)
	}
	out, _ := exec.Command("go", append([]string{"test", "-json"}, folders...)...).Output() // it fails
	results, texts := map[string]string{}, map[string]string{}
	for line := range strings.Lines(string(out)) {
		var event struct{ Action, Package, Test, Output string }
		if err := json.Unmarshal([]byte(line), &event); err != nil {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		name := path.Base(event.Package) + "/" + event.Test
		switch texts[name] += event.Output; event.Action {
		case "pass", "fail", "skip":
			results[name] = event.Action + " " + texts[name]
		}
	}
	return results, nil
})

// fails returns a test of one in testdata: that fails as long as the client has the fault. It logs the comment of its
// package.
func fails(folder, test string) func(t *testing.T) {
	return func(t *testing.T) {
		all, err := results()
		must(t, err)
		result, ok := all[folder+"/"+test]
		if !ok {
			t.Fatalf("it has no result: %s", all[folder+"/"])
		}
		if !strings.HasPrefix(result, "fail") || strings.Contains(result, "panic:") {
			t.Errorf("it should fail: %s", result)
		}
		packages, err := parser.ParseDir(token.NewFileSet(), filepath.Join("testdata", folder), nil, parser.ParseComments|parser.PackageClauseOnly)
		must(t, err)
		for _, p := range packages {
			for _, f := range p.Files {
				t.Log(f.Doc.Text())
			}
		}
	}
}

// TestTestdata runs all tests in testdata.
func TestTestdata(t *testing.T) {
	all, err := results()
	must(t, err)
	for name := range all {
		if folder, test, _ := strings.Cut(name, "/"); test != "" {
			t.Run(name, fails(folder, test))
		}
	}
}

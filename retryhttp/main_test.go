package retryhttp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/retryhttp"
)

func TestMain(m *testing.M) { check.Main(m) }

// constant retries n times, each time after a second.
func constant(n int, opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Constant(time.Second), retry.Limit(n)).With(opts...)
}

// quick retries n times, for tests that cannot be on virtual time.
func quick(n int, opts ...retry.Option) retry.Policy {
	return retry.New(backoff.Constant(time.Millisecond), retry.Limit(n)).With(opts...)
}

// script is a base transport that returns given responses, and records the requests and their times.
type script struct {
	answers []func(*http.Request) (*http.Response, error)
	start   time.Time

	mu     sync.Mutex
	calls  []string
	bodies []*testBody // of the responses
}

func newScript(answers ...func(*http.Request) (*http.Response, error)) *script {
	return &script{answers: answers, start: time.Now()}
}

func (s *script) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	note := time.Since(s.start).String()
	i := min(len(s.calls), len(s.answers)-1)
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		r.Body.Close()
		note += ":" + string(body)
	}
	s.calls = append(s.calls, note)
	s.mu.Unlock()
	resp, err := s.answers[i](r)
	if resp != nil {
		if b, ok := resp.Body.(*testBody); ok {
			s.bodies = append(s.bodies, b)
		}
		resp.Request = r
	}
	return resp, err
}

func (s *script) expect(t *testing.T, want string) {
	t.Helper()
	if got := strings.Join(s.calls, " "); got != want {
		t.Errorf("calls\n got %s\nwant %s", got, want)
	}
}

// status responds with a status and header lines like "Retry-After: 3".
func status(code int, body string, header ...string) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) {
		h := make(http.Header)
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		return &http.Response{StatusCode: code, Status: fmt.Sprint(code, " ", http.StatusText(code)), Header: h, Body: &testBody{Reader: strings.NewReader(body)}}, nil
	}
}

func failure(err error) func(*http.Request) (*http.Response, error) {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

var (
	ok          = status(200, "fine")
	unavailable = status(503, "busy")
	errCut      = errors.New("connection reset by peer")
	refused     = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
)

// testBody is a body that knows whether it was read to its end and closed.
type testBody struct {
	io.Reader
	ended, closed atomic.Bool
}

func (b *testBody) Read(p []byte) (int, error) {
	if b.closed.Load() {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := b.Reader.Read(p)
	if err != nil {
		b.ended.Store(true)
	}
	return n, err
}

func (b *testBody) Close() error {
	b.closed.Store(true)
	return nil
}

func get(t *testing.T, ctx context.Context) *http.Request {
	return request(t, ctx, http.MethodGet, nil)
}

func request(t *testing.T, ctx context.Context, method string, body io.Reader) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, "http://user:secret@example.test/path", body)
	must(t, err)
	return req
}

// read returns the status and the body, and closes it.
func read(t *testing.T, resp *http.Response, err error) string {
	t.Helper()
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Sprint(resp.StatusCode, " ", string(body), " and then ", err)
	}
	return fmt.Sprint(resp.StatusCode, " ", string(body))
}

// expectBody reads a response, or takes its error.
func expectBody(t *testing.T, resp *http.Response, err error, want string) {
	t.Helper()
	if got := read(t, resp, err); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// send sends a request through a transport, and returns what read does.
func send(t *testing.T, base http.RoundTripper, p retry.Policy, req *http.Request, opts ...retryhttp.Option) string {
	t.Helper()
	resp, err := retryhttp.NewTransport(base, p, opts...).RoundTrip(req)
	return read(t, resp, err)
}

func expectSent(t *testing.T, want string, base http.RoundTripper, p retry.Policy, req *http.Request, opts ...retryhttp.Option) {
	t.Helper()
	if got := send(t, base, p, req, opts...); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

var (
	bubble = check.Bubble
	must   = check.Must
)

// protocols runs a test over HTTP/1.1 and over HTTP/2, on loopback.
func protocols(t *testing.T, f func(t *testing.T, p *protocol)) {
	for _, name := range []string{"HTTP1", "HTTP2"} {
		t.Run(name, func(t *testing.T) { f(t, &protocol{t: t, two: name == "HTTP2"}) })
	}
}

type protocol struct {
	t   *testing.T
	two bool
}

// serve starts a server and returns its URL and a transport for it.
func (p *protocol) serve(h http.HandlerFunc) (string, *http.Transport) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.ProtoMajor == 2) != p.two {
			p.t.Errorf("the request came by %s", r.Proto)
		}
		h(w, r)
	}))
	server.Config.ErrorLog = quietLog
	var base *http.Transport
	if p.two {
		server.EnableHTTP2 = true
		server.StartTLS()
		base = server.Client().Transport.(*http.Transport)
	} else {
		server.Start()
		base = &http.Transport{}
	}
	p.t.Cleanup(func() {
		base.CloseIdleConnections()
		server.Close()
	})
	return server.URL, base
}

// cut ends the connection without a response.
func (p *protocol) cut(w http.ResponseWriter) {
	if p.two {
		panic(http.ErrAbortHandler) // resets the stream
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		p.t.Error(err)
		return
	}
	conn.Close()
}

// pipes is a network in memory, for a bubble.
type pipes struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipes() *pipes { return &pipes{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

func (p *pipes) Addr() net.Addr { return &net.UnixAddr{Name: "pipes"} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	mine, theirs := net.Pipe()
	select {
	case p.conns <- theirs:
		return mine, nil
	case <-p.done:
		return nil, refused
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// serveInBubble starts a real server on a network in memory, and returns a transport for it. The time of both is the
// bubble's.
func serveInBubble(t *testing.T, two bool, h http.HandlerFunc) *http.Transport {
	network := newPipes()
	var handlers atomic.Int64
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handlers.Add(1)
		defer handlers.Add(-1)
		h(w, r)
	}), Protocols: new(http.Protocols), ErrorLog: quietLog}
	base := &http.Transport{DialContext: network.dial, Protocols: new(http.Protocols)}
	for _, p := range []*http.Protocols{server.Protocols, base.Protocols} {
		p.SetHTTP1(!two)
		p.SetUnencryptedHTTP2(two)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(network)
	}()
	t.Cleanup(func() {
		base.CloseIdleConnections()
		server.Close()
		<-served
		for synctest.Wait(); handlers.Load() > 0; synctest.Wait() {
			time.Sleep(time.Second)
		}
	})
	return base
}

func randomBytes(n int) []byte { return bytes.Repeat([]byte("0123456789abcdef"), n/16) }

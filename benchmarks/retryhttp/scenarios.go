package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync/atomic"
	"time"
)

// scenario is a server and a request. The server fails the first requests, or all.
type scenario struct {
	name     string
	failures int // number of requests that fail, or all
	fail     func(http.ResponseWriter, *http.Request)
	method   string // "" for GET
	body     func() io.Reader
	header   string // a header line of the request
	timeout  time.Duration
	cancel   time.Duration
	down     bool // no server listens
}

const all = 1 << 30

func status(code int, header ...string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		for _, line := range header {
			name, value, _ := strings.Cut(line, ": ")
			w.Header().Set(name, value)
		}
		w.WriteHeader(code)
		fmt.Fprintf(w, "status %d", code)
	}
}

// cut reads the request, which may then have been carried out, and closes the connection.
func cut(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	panic(http.ErrAbortHandler)
}

func dated(after time.Duration) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		status(503, "Retry-After: "+time.Now().Add(after).UTC().Format(http.TimeFormat))(w, r)
	}
}

func memory() io.Reader { return strings.NewReader("the body") }
func once() io.Reader   { return io.MultiReader(strings.NewReader("the body")) }
func large() io.Reader  { return strings.NewReader(strings.Repeat("x", 1<<20)) }

func scenarios() []scenario {
	return []scenario{
		{name: "GET, 503 twice", failures: 2, fail: status(503)},
		{name: "GET, 500 twice", failures: 2, fail: status(500)},
		{name: "GET, 501 twice", failures: 2, fail: status(501)},
		{name: "GET, 429 twice", failures: 2, fail: status(429)},
		{name: "GET, 408 twice", failures: 2, fail: status(408)},
		{name: "GET, 425 twice", failures: 2, fail: status(425)},
		{name: "GET, connection cut twice", failures: 2, fail: cut},
		{name: "GET, 503 forever", failures: all, fail: status(503)},
		{name: "GET, cut forever", failures: all, fail: cut},
		{name: "GET, nobody listens", down: true},
		{name: "PUT of 1 MB, 503 twice", failures: 2, fail: status(503), method: "PUT", body: large},
		{name: "PUT of a stream, 503 twice", failures: 2, fail: status(503), method: "PUT", body: once},
		{name: "POST, 503 twice", failures: 2, fail: status(503), method: "POST", body: memory},
		{name: "POST, 500 twice", failures: 2, fail: status(500), method: "POST", body: memory},
		{name: "POST, carried out, then cut", failures: 2, fail: cut, method: "POST", body: memory},
		{name: "POST with a key, then cut", failures: 2, fail: cut, method: "POST", body: memory, header: "Idempotency-Key: 1"},
		{name: "Retry-After: 1", failures: 1, fail: status(503, "Retry-After: 1")},
		{name: "Retry-After: 1 on a 500", failures: 1, fail: status(500, "Retry-After: 1")},
		{name: "Retry-After: in 2 s, a date", failures: 1, fail: dated(2 * time.Second)},
		{name: "Retry-After: an hour ago", failures: 1, fail: dated(-time.Hour)},
		{name: "Retry-After: -1", failures: 1, fail: status(503, "Retry-After: -1")},
		{name: "Retry-After: 0, forever", failures: all, fail: status(503, "Retry-After: 0")},
		{name: "Retry-After: soon", failures: 1, fail: status(503, "Retry-After: soon")},
		{name: "Retry-After: 3600, deadline 1 s", failures: all, fail: status(503, "Retry-After: 3600"), timeout: time.Second},
		{name: "Retry-After: 99999999999, deadline 1 s", failures: all, fail: status(503, "Retry-After: 99999999999"), timeout: time.Second},
		{name: "Retry-After: 3600, cancelled after 300 ms", failures: all, fail: status(503, "Retry-After: 3600"), cancel: 300 * time.Millisecond},
	}
}

// run returns what a client received in the scenario.
func (s scenario) run(retrying client) string {
	var requests, conns atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if int(requests.Add(1)) <= s.failures {
			s.fail(w, r)
			return
		}
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(w, "done, %d bytes came", n)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			conns.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	if s.down {
		server.Close()
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	if s.timeout > 0 {
		ctx, stop = context.WithTimeout(ctx, s.timeout)
		defer stop()
	}
	if s.cancel > 0 {
		timer := time.AfterFunc(s.cancel, stop)
		defer timer.Stop()
	}
	var body io.Reader
	if s.body != nil {
		body = s.body()
	}
	req, err := http.NewRequestWithContext(ctx, s.method, server.URL, body)
	if err != nil {
		return err.Error()
	}
	if name, value, ok := strings.Cut(s.header, ": "); ok {
		req.Header.Set(name, value)
	}
	base := &http.Transport{}
	defer base.CloseIdleConnections()
	start := time.Now()
	resp, err := (&http.Client{Transport: retrying(base)}).Do(req)
	took := time.Since(start).Round(100 * time.Millisecond)
	return fmt.Sprintf("%s; %d sent, %d conns, %v", answer(resp, err), requests.Load(), conns.Load(), took)
}

var address = regexp.MustCompile(`127\.0\.0\.1:\d+`) // the port differs each time

func answer(resp *http.Response, err error) string {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "deadline exceeded"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case err != nil:
		return "error: " + address.ReplaceAllString(err.Error(), "…")
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return fmt.Sprintf("%d, its body: %v", resp.StatusCode, err)
	}
	return fmt.Sprintf("%d, %q", resp.StatusCode, body)
}

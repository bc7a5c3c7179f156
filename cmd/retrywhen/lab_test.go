package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestLab(t *testing.T) {
	p := command(t, "lab", "--port=0", "mine: linear d=1s tiled")
	p.start(t)
	address := p.line(t)
	if !strings.HasPrefix(address, "http://127.0.0.1:") || !strings.Contains(address, "/?s=mine%3A+linear+d%3D1s+tiled") {
		t.Fatalf("the address is %s", address)
	}
	api := strings.Replace(address, "/?", "/api/state?", 1)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, api, nil)
	must(t, err)
	got, err := http.DefaultClient.Do(r)
	must(t, err)
	var state struct{ Strategies []struct{ Text string } }
	if err := json.NewDecoder(got.Body).Decode(&state); err != nil || len(state.Strategies) != 1 || state.Strategies[0].Text != "mine: linear d=1s tiled" {
		t.Errorf("%v, %+v", err, state)
	}
	_ = got.Body.Close()

	// A request for another host is refused.
	r.Host = "rebound.example"
	got, err = http.DefaultClient.Do(r)
	must(t, err)
	text, _ := io.ReadAll(got.Body)
	_ = got.Body.Close()
	if got.StatusCode != http.StatusMisdirectedRequest || !strings.Contains(string(text), "rebound.example") {
		t.Errorf("%s %s", got.Status, text)
	}

	must(t, p.Process.Signal(os.Interrupt))
	if rest, code := p.end(t); rest != "" || code != 0 || p.err.Len() > 0 {
		t.Errorf("interrupted: exit code %d, %q, %q; want nothing", code, rest, p.err.String())
	}
}

// A simulation may take a minute.
func TestLabServesWhatTakesLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		l := pipe{accepts: make(chan net.Conn, 1)}
		l.accepts <- theirs
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- serve(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				time.Sleep(time.Minute)
				_, _ = io.WriteString(w, "done")
			}))
		}()
		_, err := io.WriteString(ours, "GET / HTTP/1.0\r\n\r\n")
		must(t, err)
		if text, err := io.ReadAll(ours); !strings.HasSuffix(string(text), "done") {
			t.Errorf("%q, %v", text, err)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// pipe is a listener for one connection.
type pipe struct{ accepts chan net.Conn }

func (p pipe) Addr() net.Addr { return &net.TCPAddr{} }
func (p pipe) Close() error   { close(p.accepts); return nil }
func (p pipe) Accept() (net.Conn, error) {
	if c, ok := <-p.accepts; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func TestLabPortInUse(t *testing.T) {
	var config net.ListenConfig
	l, err := config.Listen(t.Context(), "tcp4", "127.0.0.1:0")
	must(t, err)
	defer func() { _ = l.Close() }()
	port := l.Addr().(*net.TCPAddr).Port
	_, _, err = inProcess(t, "lab", "--port", fmt.Sprint(port))
	if want := fmt.Sprintf("lab: port %d is in use", port); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}

// Bookmarks stay valid: the port is always the same, unless it is in use.
func TestLabDefaultPort(t *testing.T) {
	var config net.ListenConfig
	first := fmt.Sprintf("127.0.0.1:%d", defaultPort)
	if l, err := config.Listen(t.Context(), "tcp4", first); err == nil {
		_ = l.Close()
		p := command(t, "lab")
		p.start(t)
		if address := p.line(t); address != "http://"+first+"/" {
			t.Errorf("the address is %s, want that of %s", address, first)
		}
		defer func() { _ = p.Process.Kill() }()
	}
	p := command(t, "lab")
	p.start(t)
	address := p.line(t)
	must(t, p.Process.Signal(os.Interrupt))
	p.end(t)
	if address == "http://"+first+"/" || !strings.Contains(p.err.String(), "is in use") {
		t.Errorf("where the port is busy the address is %s, and it says %q", address, p.err.String())
	}
}

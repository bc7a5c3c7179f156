// Package discordgo shows faults of bwmarrin/discordgo v0.29.0: Open waits without a timeout, and Close does not end
// reconnects.
//
//  1. Open reads Hello, and then READY or RESUMED, without a deadline (wsapi.go:104, :171). If a gateway accepts the
//     connection and is silent, Open never returns, and a session that reconnects is lost without an error. It holds
//     the session's mutex meanwhile, so Close does not return either (:946). To mend it: SetReadDeadline for the
//     handshake, and no mutex during it.
//
//  2. Close does not end reconnect (wsapi.go:878): if the gateway is down when the session is closed, it is open
//     again some time after. The same happens if a heartbeat is being written while Close closes the connection: its
//     error begins a reconnect (:307). To mend it: a field that says that the session was closed by its owner, which
//     reconnect looks at, and a channel that ends its wait.
package discordgo

import (
	"bufio"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/gorilla/websocket"
)

// gateway is a server in memory, whose WebSockets send these texts.
type gateway struct {
	texts []string

	mu    sync.Mutex
	down  bool
	dials int
	conns []net.Conn
}

func (g *gateway) session(t *testing.T) *discordgo.Session {
	s, err := discordgo.New("Bot token")
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{DialTLSContext: g.dial, DisableKeepAlives: true}
	s.Client.Transport, s.Dialer, s.LogLevel = transport, &websocket.Dialer{NetDialTLSContext: g.dial, HandshakeTimeout: 45 * time.Second}, -1
	return s
}

func (g *gateway) dial(context.Context, string, string) (net.Conn, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dials++
	if g.down {
		return nil, syscall.ECONNREFUSED
	}
	client, server := net.Pipe()
	g.conns = append(g.conns, server)
	go g.serve(server)
	return client, nil
}

func (g *gateway) serve(c net.Conn) {
	r, err := http.ReadRequest(bufio.NewReader(c))
	if err != nil {
		return
	}
	if r.Header.Get("Upgrade") == "" {
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 25\r\n\r\n"+`{"url":"wss://127.0.0.1"}`)
		return
	}
	key := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
	fmt.Fprintf(c, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n", base64.StdEncoding.EncodeToString(key[:]))
	go func() { _, _ = io.Copy(io.Discard, c) }()
	for _, text := range g.texts {
		_, _ = c.Write(append([]byte{0x81, byte(len(text))}, text...))
	}
}

// fall closes all connections, and refuses further ones or not.
func (g *gateway) fall(down bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.down = down
	for _, c := range g.conns {
		_ = c.Close()
	}
	g.conns = nil
}

func TestOpenWithoutHello(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateway{}
		s := g.session(t)
		opened := make(chan error, 1)
		go func() { opened <- s.Open() }()
		time.Sleep(time.Hour)
		if len(opened) == 0 {
			t.Error("the gateway has not sent Hello for an hour; Open has not returned, and holds the session's mutex, so that Close would not return either")
		}
		g.fall(true)
		<-opened
	})
}

func TestCloseEndsReconnects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := &gateway{texts: []string{`{"op":10,"d":{"heartbeat_interval":41250}}`, `{"op":0,"s":1,"t":"READY","d":{"session_id":"1","user":{"id":"2"}}}`}}
		s := g.session(t)
		if err := s.Open(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		g.fall(true)
		time.Sleep(10 * time.Second)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		g.fall(false)
		before := g.dials
		time.Sleep(time.Minute)
		if g.dials > before {
			t.Errorf("a minute after Close there were %d connections more", g.dials-before)
		}
		_ = s.Close() // and once more, so that the test ends
		g.fall(true)
	})
}

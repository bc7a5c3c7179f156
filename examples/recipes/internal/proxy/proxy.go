// Package proxy has a proxy between a client and a real server with the faults of networks: it cuts connections,
// refuses them and falls silent.
package proxy

import (
	"net"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/examples/internal/check"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// Policy is for a client behind a Proxy.
var Policy = retry.New(backoff.Exponential(5*time.Millisecond, 2).Cap(time.Second).Jitter(jitter.Full),
	retry.Limit(30), retry.ResetAfterItems(1))

// Proxy forwards connections to a server. It is safe for concurrent use.
type Proxy struct {
	server, address string

	mu      sync.Mutex
	links   map[*link]bool
	refuses time.Time // until then
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	silent         bool // nothing more is forwarded; Proxy.mu
}

// Start returns a proxy for the server at the address, for the duration of the test.
func Start(t *testing.T, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	p := &Proxy{server: server, address: l.Addr().String(), links: map[*link]bool{}}
	wait := check.Accept(l, p.serve)
	t.Cleanup(func() {
		_ = l.Close()
		p.Refuse(time.Hour)
		wait()
	})
	return p
}

// Address returns the address on which the proxy listens. It does not change.
func (p *Proxy) Address() string { return p.address }

// Cut resets all present connections.
func (p *Proxy) Cut() { p.Refuse(0) }

// Silence makes all present connections carry nothing more, but stay open.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.silent = true
	}
}

// Refuse resets all present connections, and until d is over each new one at once.
func (p *Proxy) Refuse(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = time.Now().Add(d)
	for l := range p.links {
		reset(l.client)
		reset(l.server)
	}
}

// Each returns a function that causes the next fault with each call: cut, silence and refuse in turn.
func (p *Proxy) Each() func() {
	n := 0
	return func() {
		switch n++; n % 3 {
		case 1:
			p.Cut()
		case 2:
			p.Silence()
		default:
			p.Refuse(50 * time.Millisecond)
		}
	}
}

// serve forwards a connection until one of its ends is closed.
func (p *Proxy) serve(client net.Conn) {
	defer reset(client)
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer reset(server)
	l := &link{client: client, server: server}
	p.mu.Lock()
	refused := time.Now().Before(p.refuses)
	p.links[l] = true
	p.mu.Unlock()
	if !refused {
		var both sync.WaitGroup
		both.Go(func() { p.forward(l, server, client) })
		both.Go(func() { p.forward(l, client, server) })
		both.Wait()
	}
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// forward copies until one of the ends is closed. It drops what comes when the link is silent.
func (p *Proxy) forward(l *link, to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		p.mu.Lock()
		silent := l.silent
		p.mu.Unlock()
		if !silent && err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

// reset closes a connection so that its peer sees a reset.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

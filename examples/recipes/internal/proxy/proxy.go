// Package proxy has a proxy between a client and a real server with the faults of networks: it cuts connections,
// refuses them and falls silent.
package proxy

import (
	"net"
	"slices"
	"sync"
	"sync/atomic"
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
	t               *testing.T
	server, address string

	mu       sync.Mutex
	listener net.Listener
	links    []*link
	closed   bool
	running  sync.WaitGroup
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	silent         atomic.Bool // nothing more is forwarded
}

// Start returns a proxy for the server at the address, for the duration of the test.
func Start(t *testing.T, server string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, server: server, address: check.Port(t)}
	if err := p.listen(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.close)
	return p
}

// Address returns the address on which the proxy listens. It does not change.
func (p *Proxy) Address() string { return p.address }

// Cut resets all present connections.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut()
}

// Refuse resets all present connections and refuses new ones for d.
func (p *Proxy) Refuse(d time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || p.listener == nil {
		return
	}
	_ = p.listener.Close()
	p.listener = nil
	p.cut()
	p.running.Go(func() {
		time.Sleep(d)
		if err := p.listen(); err != nil {
			p.t.Error(err)
		}
	})
}

// Silence makes all present connections carry nothing more, but stay open.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, l := range p.links {
		l.silent.Store(true)
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

func (p *Proxy) listen() error {
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return l.Close()
	}
	p.listener = l
	p.running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			p.running.Go(func() { p.serve(client) })
		}
	})
	return nil
}

// serve forwards a connection until one of its ends is closed.
func (p *Proxy) serve(client net.Conn) {
	server, err := net.Dial("tcp", p.server)
	if err != nil {
		reset(client)
		return
	}
	l := &link{client: client, server: server}
	p.mu.Lock()
	if p.closed || p.listener == nil {
		p.mu.Unlock()
		l.reset()
		return
	}
	p.links = append(p.links, l)
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.forward(server, client) })
	both.Go(func() { l.forward(client, server) })
	both.Wait()
	p.mu.Lock()
	p.links = slices.DeleteFunc(p.links, func(other *link) bool { return other == l })
	p.mu.Unlock()
}

// forward copies until one of the ends is closed. It drops what comes when the link is silent.
func (l *link) forward(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if !l.silent.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) cut() {
	for _, l := range p.links {
		l.reset()
	}
	p.links = nil
}

func (l *link) reset() {
	reset(l.client)
	reset(l.server)
}

// reset closes a connection so that its peer sees a reset.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = c.Close()
}

func (p *Proxy) close() {
	p.mu.Lock()
	p.closed = true
	if p.listener != nil {
		_ = p.listener.Close()
	}
	p.cut()
	p.mu.Unlock()
	p.running.Wait()
}

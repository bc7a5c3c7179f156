// Package proxy has a proxy between a client and a real server with the faults of networks: it cuts connections,
// refuses them and falls silent.
package proxy

import (
	"net"
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
	running         sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener // nil while it refuses
	links    map[*link]bool
	closed   bool
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	silent         atomic.Bool // nothing more is forwarded
}

// Start returns a proxy for the server at the address, for the duration of the test.
func Start(t *testing.T, server string) *Proxy {
	t.Helper()
	p := &Proxy{t: t, server: server, address: check.Port(t), links: map[*link]bool{}}
	p.listen()
	t.Cleanup(func() {
		p.close(true)
		p.running.Wait()
	})
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

// Silence makes all present connections carry nothing more, but stay open.
func (p *Proxy) Silence() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.silent.Store(true)
	}
}

// Refuse resets all present connections and refuses new ones for d.
func (p *Proxy) Refuse(d time.Duration) {
	if p.close(false) {
		p.running.Go(func() {
			time.Sleep(d)
			p.listen()
		})
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

// close stops listening and resets all connections. It reports whether it listened.
func (p *Proxy) close(forever bool) (listened bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = p.closed || forever
	if listened = p.listener != nil; listened {
		_ = p.listener.Close()
		p.listener = nil
	}
	p.cut()
	return listened
}

func (p *Proxy) listen() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	l, err := net.Listen("tcp", p.address)
	if err != nil {
		p.t.Error(err)
		return
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
	if p.listener != nil {
		p.links[l] = true
	} else {
		l.reset()
	}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.forward(server, client) })
	both.Go(func() { l.forward(client, server) })
	both.Wait()
	p.mu.Lock()
	delete(p.links, l)
	p.mu.Unlock()
}

// forward copies until one of the ends is closed. It drops what comes when the link is silent.
func (l *link) forward(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 16<<10)
	for {
		n, err := from.Read(buffer)
		if !l.silent.Load() && err == nil {
			_, err = to.Write(buffer[:n])
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) cut() {
	for l := range p.links {
		l.reset()
	}
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

package embedded

import (
	"net"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats-server/v2/server"
)

// inProcess connects a client without a network.
type inProcess struct{ server *server.Server }

// InProcessConn is called by nats.Connect.
func (p inProcess) InProcessConn() (net.Conn, error) {
	c, err := p.server.InProcessConn()
	if err != nil {
		return nil, err
	}
	written := make(chan struct{})
	close(written)
	return &pipe{Conn: c, written: written}, nil
}

// pipe is the client's end of a net.Pipe whose first writes, the greeting, do not wait for their reader. A server that
// refuses the client writes the reason before it has read the whole greeting. A net.Pipe has no buffer, so each would
// wait for the other.
type pipe struct {
	net.Conn
	greeted  atomic.Bool // the client has written
	answered atomic.Bool // the client has read since
	mu       sync.Mutex
	written  chan struct{} // closed when the last write of the greeting is over
}

func (p *pipe) Read(b []byte) (int, error) {
	greeted := p.greeted.Load()
	n, err := p.Conn.Read(b)
	if greeted {
		p.answered.Store(true)
	}
	return n, err
}

func (p *pipe) Write(b []byte) (int, error) {
	p.greeted.Store(true)
	p.mu.Lock()
	before := p.written
	if p.answered.Load() {
		p.mu.Unlock()
		<-before
		return p.Conn.Write(b)
	}
	written := make(chan struct{})
	p.written = written
	p.mu.Unlock()
	greeting := append([]byte(nil), b...)
	go func() {
		defer close(written)
		<-before
		p.Conn.Write(greeting)
	}()
	return len(b), nil
}

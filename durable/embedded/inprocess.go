package embedded

import (
	"net"
	"sync"

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
	mu       sync.Mutex
	greeted  bool          // the client has written
	answered bool          // the client has read since
	written  chan struct{} // closed when the last write of the greeting is over
}

func (p *pipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	greeted, answered := p.greeted, p.answered
	p.mu.Unlock()
	n, err := p.Conn.Read(b)
	if greeted && !answered {
		p.mu.Lock()
		p.answered = true
		p.mu.Unlock()
	}
	return n, err
}

func (p *pipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	p.greeted = true
	before, answered := p.written, p.answered
	if answered {
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

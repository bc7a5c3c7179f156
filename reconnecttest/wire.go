package reconnecttest

import (
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// wire is a connection in memory, as TCP makes them: with buffers, deadlines, a close and a reset. What has come can be
// read even after a reset, as on Linux.
type wire struct {
	net  *network
	link *link

	mu      sync.Mutex    // never held during a wait
	changed chan struct{} // closed, and replaced, with each change
	reset   bool
	silent  bool // what is written is dropped
	client  *end
	server  *end
}

// end is one end of a wire: a net.Conn.
type end struct {
	wire   *wire
	peer   *end
	local  net.Addr
	in     []byte // that has come and is not read yet
	closed bool
	eof    bool // the peer writes no more
	until  [2]time.Time
}

// window is how many bytes are on their way at most.
const window = 64 << 10

func newWire(n *network) *wire {
	w := &wire{net: n, link: &link{}, changed: make(chan struct{})}
	w.link.wire = w
	w.client = &end{wire: w, local: &net.TCPAddr{IP: address.IP, Port: 50000}}
	w.server = &end{wire: w, local: address, peer: w.client}
	w.client.peer = w.server
	return w
}

// change changes the wire and wakes whoever waits for it.
func (w *wire) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	close(w.changed)
	w.changed = make(chan struct{})
}

// end breaks the wire.
func (w *wire) end(how fate) {
	w.change(func() {
		switch how {
		case cut:
			w.reset = true
		case silence:
			w.silent = true
		case ends:
			w.client.eof, w.server.eof, w.server.closed = true, true, true
		}
	})
}

// over reports whether the client's end is of no use any more.
func (w *wire) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.reset || w.server.closed
}

const (
	reading = 0 // of until
	writing = 1
)

// wait calls try until it is done, and returns its result, or an error when the deadline is over or the end is closed.
func (e *end) wait(what int, op string, try func() (n int, err error, done bool)) (int, error) {
	w := e.wire
	for {
		w.mu.Lock()
		n, err, done := 0, error(&net.OpError{Op: op, Net: "tcp", Addr: address, Err: net.ErrClosed}), e.closed
		if !done {
			n, err, done = try()
		}
		changed, until := w.changed, e.until[what]
		w.mu.Unlock()
		if done {
			return n, err
		}
		var timeout <-chan time.Time
		if !until.IsZero() {
			if time.Until(until) <= 0 {
				return 0, &net.OpError{Op: op, Net: "tcp", Addr: address, Err: os.ErrDeadlineExceeded}
			}
			timer := time.NewTimer(time.Until(until))
			defer timer.Stop()
			timeout = timer.C
		}
		select {
		case <-changed:
		case <-timeout:
		}
	}
}

func (e *end) Read(p []byte) (int, error) {
	n, err := e.wait(reading, "read", func() (int, error, bool) {
		n := copy(p, e.in)
		e.in = e.in[n:]
		switch {
		case n > 0 || len(p) == 0:
			return n, nil, true
		case e.wire.reset:
			return 0, errReset, true
		case e.eof:
			return 0, io.EOF, true
		}
		return 0, nil, false
	})
	if n > 0 {
		e.wire.change(func() {}) // there is room for more
	}
	return n, err
}

// Write delivers p. A write of the server is a unit, before or amid which the connection may break.
func (e *end) Write(p []byte) (int, error) {
	w := e.wire
	if e == w.server && !w.over() {
		if how := w.net.send(-1); how != works {
			if w.net.amid {
				w.change(func() { e.peer.in = append(e.peer.in, p[:len(p)/2]...) })
			}
			w.end(how)
			if how != silence {
				w.net.over(w.link)
			}
		}
	}
	written := 0
	for {
		n, err := e.wait(writing, "write", func() (int, error, bool) {
			n := min(len(p)-written, window-len(e.peer.in))
			switch {
			case w.reset || e.peer.closed || e.eof && e == w.client:
				return 0, errBroken, true
			case w.silent:
				return len(p) - written, nil, true
			case n <= 0 && len(p) > 0:
				return 0, nil, false
			}
			e.peer.in = append(e.peer.in, p[written:written+n]...)
			return n, nil, true
		})
		w.change(func() {})
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
}

func (e *end) Close() error {
	w := e.wire
	w.change(func() {
		e.closed = true
		if !w.silent {
			e.peer.eof = true
		}
	})
	if e == w.client {
		w.net.over(w.link)
	}
	return nil
}

func (e *end) LocalAddr() net.Addr  { return e.local }
func (e *end) RemoteAddr() net.Addr { return e.peer.local }

func (e *end) SetDeadline(t time.Time) error {
	e.wire.change(func() { e.until = [2]time.Time{t, t} })
	return nil
}

func (e *end) SetReadDeadline(t time.Time) error {
	e.wire.change(func() { e.until[reading] = t })
	return nil
}

func (e *end) SetWriteDeadline(t time.Time) error {
	e.wire.change(func() { e.until[writing] = t })
	return nil
}

// port is where a server accepts connections.
type port struct {
	accept chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func newPort() *port {
	return &port{accept: make(chan net.Conn, 1024), closed: make(chan struct{})}
}

func (l *port) Accept() (net.Conn, error) {
	select {
	case <-l.closed:
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: address, Err: net.ErrClosed}
	case c := <-l.accept:
		return c, nil
	}
}

func (l *port) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *port) Addr() net.Addr { return address }

// offer hands a connection to the server, and reports whether it still listens.
func (l *port) offer(c net.Conn) bool {
	select {
	case <-l.closed:
		return false
	default:
	}
	select {
	case l.accept <- c:
		return true
	default:
		return false
	}
}

package reconnecttest

import (
	"context"
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

// end is one end of a wire: a net.Conn. What is written is taken at once, however much it is, as callers hold mutexes.
type end struct {
	wire   *wire
	peer   *end
	local  net.Addr
	in     []byte // that has come and is not read yet
	onWay  []byte // that has not come
	closed bool
	eof    bool      // the peer writes no more
	until  time.Time // the deadline of reads
	waits  bool      // a Read waits
}

func newWire(n *network) *wire {
	w := &wire{net: n, changed: make(chan struct{})}
	w.link = &link{sever: w.sever}
	w.client = &end{wire: w, local: &net.TCPAddr{IP: address.IP, Port: 50000}}
	w.server = &end{wire: w, local: address, peer: w.client}
	w.client.peer = w.server
	n.mu.Lock()
	defer n.mu.Unlock()
	n.wires = append(n.wires, w)
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

// sever breaks the wire. What was written before has come.
func (w *wire) sever(how fate) {
	w.change(func() {
		w.client.come(len(w.client.onWay))
		w.server.come(len(w.server.onWay))
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
	return w.reset || w.silent || w.server.closed
}

// deaf reports whether the client waits for what a silent wire does not bring, without a deadline.
func (w *wire) deaf() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.silent && w.client.waits && w.client.until.IsZero()
}

// come makes the first n bytes of what is on its way be there.
func (e *end) come(n int) {
	n = min(n, len(e.onWay))
	e.in = append(e.in, e.onWay[:n]...)
	e.onWay = e.onWay[n:]
}

// called records a call, which ends its goroutine if the run is stuck.
func (e *end) called() { e.wire.net.called(e == e.wire.client) }

func (e *end) Read(p []byte) (int, error) {
	e.called()
	w := e.wire
	for {
		w.mu.Lock()
		n, err := e.take(p)
		e.waits = n == 0 && err == nil && len(p) > 0
		changed, waits, until := w.changed, e.waits, e.until
		w.mu.Unlock()
		if n > 0 {
			w.net.progress()
		}
		if !waits {
			return n, err
		}
		var timeout <-chan time.Time
		if !until.IsZero() {
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

// take takes what has come, or returns why nothing comes. The caller holds the mutex.
func (e *end) take(p []byte) (n int, err error) {
	if e.closed {
		return 0, &net.OpError{Op: "read", Net: "tcp", Addr: address, Err: net.ErrClosed}
	}
	n = copy(p, e.in)
	e.in = e.in[n:]
	switch {
	case n > 0:
	case e.wire.reset:
		err = errReset
	case e.eof && len(e.onWay) == 0:
		err = io.EOF
	case !e.until.IsZero() && time.Until(e.until) <= 0:
		err = &net.OpError{Op: "read", Net: "tcp", Addr: address, Err: os.ErrDeadlineExceeded}
	}
	return n, err
}

// Write sends p. A write of the server is a unit, before or amid which the connection may break.
func (e *end) Write(p []byte) (int, error) {
	e.called()
	w := e.wire
	if e == w.client {
		w.net.wrote()
	} else if !w.over() {
		if how := w.net.send(w.link, -1); how != unbroken {
			if w.net.amid {
				w.change(func() { e.peer.onWay = append(e.peer.onWay, p[:len(p)/2]...) })
			}
			w.net.breakOne(w.link, how)
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	n := len(p)
	switch {
	case e.closed:
		return 0, &net.OpError{Op: "write", Net: "tcp", Addr: address, Err: net.ErrClosed}
	case w.reset || e.peer.closed || e.eof && e == w.client:
		return 0, errBroken
	case !w.silent:
		e.peer.onWay = append(e.peer.onWay, p...)
		time.AfterFunc(latency, func() {
			w.change(func() { e.peer.come(n) })
		})
	}
	return n, nil
}

func (e *end) Close() error {
	e.called()
	w := e.wire
	w.change(func() {
		e.closed = true
		if !w.silent {
			e.peer.eof = true
		}
	})
	if e == w.client {
		w.net.closes(w.link)
	}
	return nil
}

func (e *end) LocalAddr() net.Addr  { return e.local }
func (e *end) RemoteAddr() net.Addr { return e.peer.local }

func (e *end) SetDeadline(t time.Time) error { return e.SetReadDeadline(t) }

func (e *end) SetReadDeadline(t time.Time) error {
	e.called()
	e.wire.change(func() { e.until = t })
	return nil
}

// SetWriteDeadline does nothing, since a Write does not wait.
func (e *end) SetWriteDeadline(time.Time) error {
	e.called()
	return nil
}

// port is where a server accepts connections, until it closes the port or its context ends.
type port struct {
	ctx    context.Context
	close  context.CancelFunc
	accept chan net.Conn
}

func newPort(ctx context.Context) *port {
	l := &port{accept: make(chan net.Conn, 1024)}
	l.ctx, l.close = context.WithCancel(ctx)
	return l
}

func (l *port) Accept() (net.Conn, error) {
	select {
	case <-l.ctx.Done():
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: address, Err: net.ErrClosed}
	case c := <-l.accept:
		return c, nil
	}
}

func (l *port) Close() error {
	l.close()
	return nil
}

func (l *port) Addr() net.Addr { return address }

// offer hands a connection to the server, and reports whether it still listens.
func (l *port) offer(c net.Conn) bool {
	if l.ctx.Err() != nil {
		return false
	}
	select {
	case l.accept <- c:
		return true
	default: // too many wait
		return false
	}
}

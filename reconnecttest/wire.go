package reconnecttest

import (
	"cmp"
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
	network *network
	link    *link

	mu      sync.Mutex    // never held during a wait
	changed chan struct{} // closed, and replaced, with each change
	fate    fate          // with silence, what is written is dropped
	paused  time.Time     // until then nothing of what the server writes comes
	client  *conn
	server  *conn
}

// conn is one end of a wire: a net.Conn. What is written is taken at once, however much it is, as callers hold mutexes.
type conn struct {
	wire    *wire
	peer    *conn
	local   net.Addr
	in      []byte // that has come and is not read yet
	onWay   []byte // that has not come
	closed  bool
	eof     bool      // the peer writes no more,
	refused bool      // and has refused what was written to it since
	readBy  time.Time // the deadline of reads
	writeBy time.Time // that of writes, which do not wait
	waits   bool      // a Read waits
}

func newWire(n *network) *wire {
	w := &wire{network: n, changed: make(chan struct{})}
	w.link = &link{sever: w.sever, waits: w.awaited}
	w.client = &conn{wire: w, local: &net.TCPAddr{IP: address.IP, Port: 50000}}
	w.server = &conn{wire: w, local: address, peer: w.client}
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
		w.fate = how
		if how == ends {
			w.client.eof, w.server.eof, w.server.closed = true, true, true
		}
	})
}

// dead reports whether nothing passes any more.
func (w *wire) dead() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fate != unbroken || w.server.closed || w.client.closed
}

// awaited reports whether the client waits for what the wire brings.
func (w *wire) awaited() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.client.waits
}

// deaf reports whether the client waits for what a silent wire does not bring, without a deadline.
func (w *wire) deaf() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.fate == silence && w.client.waits && w.client.readBy.IsZero()
}

// come makes the first n bytes of what is on its way be there.
func (c *conn) come(n int) {
	n = min(n, len(c.onWay))
	c.in = append(c.in, c.onWay[:n]...)
	c.onWay = c.onWay[n:]
}

// called records a call, which ends its goroutine if the run is stuck.
func (c *conn) called() { c.wire.network.called(c == c.wire.client) }

func (c *conn) Read(p []byte) (int, error) {
	c.called()
	w := c.wire
	for {
		w.mu.Lock()
		n, err := c.take(p)
		c.waits = n == 0 && err == nil && len(p) > 0
		changed, waits, until := w.changed, c.waits, c.readBy
		w.mu.Unlock()
		if n > 0 {
			w.network.progress(c == w.client)
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
func (c *conn) take(p []byte) (n int, err error) {
	if c.closed {
		return 0, &net.OpError{Op: "read", Net: "tcp", Addr: address, Err: net.ErrClosed}
	}
	n = copy(p, c.in)
	c.in = c.in[n:]
	switch {
	case n > 0:
	case c.wire.fate == cut:
		err = errReset
	case c.eof && len(c.onWay) == 0:
		err = io.EOF
	case past(c.readBy):
		err = &net.OpError{Op: "read", Net: "tcp", Addr: address, Err: os.ErrDeadlineExceeded}
	}
	return n, err
}

// Write sends p. A write of the server is a unit, before or amid which the connection may break.
func (c *conn) Write(p []byte) (int, error) {
	c.called()
	w := c.wire
	written := 0
	if c == w.client {
		if w.network.wrote() {
			time.Sleep(floodPace)
		}
	} else if !w.dead() {
		switch how := w.network.send(w.link, -1, p); how {
		case unbroken:
		case stall:
			written, _ = c.put(p[:len(p)/2])
			w.change(func() { w.paused = time.Now().Add(w.network.pause) })
		default:
			w.change(func() { c.peer.onWay = append(c.peer.onWay, p[:w.network.before(p)]...) })
			w.network.breakOne(w.link, how)
		}
	}
	n, err := c.put(p[written:])
	return written + n, err
}

// put puts p on its way. The first write to a peer that has closed succeeds, as with TCP, and is refused then.
func (c *conn) put(p []byte) (int, error) {
	w := c.wire
	w.mu.Lock()
	defer w.mu.Unlock()
	n, delay := len(p), cmp.Or(time.Duration(w.network.delay.Load()), latency)
	switch {
	case c.closed:
		return 0, &net.OpError{Op: "write", Net: "tcp", Addr: address, Err: net.ErrClosed}
	case w.fate == cut || c.refused:
		return 0, errBroken
	case past(c.writeBy):
		return 0, &net.OpError{Op: "write", Net: "tcp", Addr: address, Err: os.ErrDeadlineExceeded}
	case w.fate == silence:
	case c.peer.closed:
		time.AfterFunc(2*delay, func() {
			w.change(func() { c.refused = true })
		})
	default:
		after := delay
		if c == w.server {
			after = max(after, time.Until(w.paused))
		}
		c.peer.onWay = append(c.peer.onWay, p...)
		time.AfterFunc(after, func() {
			w.change(func() { c.peer.come(n) })
		})
	}
	return n, nil
}

func (c *conn) Close() error {
	c.called()
	w := c.wire
	w.change(func() {
		c.closed = true
		if w.fate != silence {
			c.peer.eof = true
		}
	})
	if c == w.client {
		w.network.closes(w.link)
	}
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return c.local }
func (c *conn) RemoteAddr() net.Addr { return c.peer.local }

// past reports whether there is a deadline, and it is over.
func past(deadline time.Time) bool { return !deadline.IsZero() && time.Until(deadline) <= 0 }

func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetWriteDeadline(t)
	return c.SetReadDeadline(t)
}

func (c *conn) SetReadDeadline(t time.Time) error  { return c.set(&c.readBy, t) }
func (c *conn) SetWriteDeadline(t time.Time) error { return c.set(&c.writeBy, t) }

func (c *conn) set(deadline *time.Time, t time.Time) error {
	c.called()
	c.wire.change(func() { *deadline = t })
	return nil
}

// port is where a server accepts connections, until it closes the port or its context ends.
type port struct {
	ctx    context.Context
	close  context.CancelFunc
	stop   context.CancelFunc // stops the server
	accept chan net.Conn
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

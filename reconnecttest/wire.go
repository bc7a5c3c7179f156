package reconnecttest

import (
	"io"
	"net"
	"os"
	"slices"
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
	in     []byte   // that has come and is not read yet
	onWay  [][]byte // that has not come
	closed bool
	eof    bool // the peer writes no more
	until  [2]time.Time
	reads  int // calls that wait
}

// window is how many bytes are on their way at most.
const window = 64 << 10

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

// count counts the reads that wait.
func (w *wire) count(e *end, what, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if what == reading {
		e.reads += n
	}
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
	return w.silent && w.client.reads > 0 && w.client.until[reading].IsZero()
}

// come makes the first n of what is on its way be there.
func (e *end) come(n int) {
	for _, p := range e.onWay[:n] {
		e.in = append(e.in, p...)
	}
	e.onWay = e.onWay[n:]
}

// send puts p on its way.
func (e *end) send(p []byte) {
	e.onWay = append(e.onWay, slices.Clone(p))
	time.AfterFunc(latency, func() {
		e.wire.change(func() { e.come(min(1, len(e.onWay))) })
	})
}

// room returns how much may be sent.
func (e *end) room() int {
	n := window - len(e.in)
	for _, p := range e.onWay {
		n -= len(p)
	}
	return n
}

// called records a call, which ends its goroutine if the run is stuck.
func (e *end) called() { e.wire.net.called(e == e.wire.client) }

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
		w.count(e, what, 1)
		select {
		case <-changed:
		case <-timeout:
		}
		w.count(e, what, -1)
	}
}

func (e *end) Read(p []byte) (int, error) {
	e.called()
	n, err := e.wait(reading, "read", func() (int, error, bool) {
		n := copy(p, e.in)
		e.in = e.in[n:]
		switch {
		case n > 0 || len(p) == 0:
			return n, nil, true
		case e.wire.reset:
			return 0, errReset, true
		case e.eof && len(e.onWay) == 0:
			return 0, io.EOF, true
		}
		return 0, nil, false
	})
	if n > 0 {
		e.wire.net.progress()
		e.wire.change(func() {}) // there is room for more
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
				w.change(func() { e.peer.onWay = append(e.peer.onWay, slices.Clone(p[:len(p)/2])) })
			}
			w.net.breakOne(w.link, how)
		}
	}
	written := 0
	for {
		n, err := e.wait(writing, "write", func() (int, error, bool) {
			n := min(len(p)-written, e.peer.room())
			switch {
			case w.reset || e.peer.closed || e.eof && e == w.client:
				return 0, errBroken, true
			case w.silent:
				return len(p) - written, nil, true
			case n <= 0 && len(p) > 0:
				return 0, nil, false
			}
			e.peer.send(p[written : written+n])
			return n, nil, true
		})
		if written += n; err != nil || written == len(p) {
			return written, err
		}
	}
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

func (e *end) SetDeadline(t time.Time) error {
	e.called()
	e.wire.change(func() { e.until = [2]time.Time{t, t} })
	return nil
}

func (e *end) SetReadDeadline(t time.Time) error {
	e.called()
	e.wire.change(func() { e.until[reading] = t })
	return nil
}

func (e *end) SetWriteDeadline(t time.Time) error {
	e.called()
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

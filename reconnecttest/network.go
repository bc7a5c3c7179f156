package reconnecttest

import (
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"
)

// fate is how a connection breaks.
type fate int

const (
	works   fate = iota
	cut          // it is reset
	ends         // it is closed by the server, without an error
	silence      // it stays open, and nothing comes any more
)

// The errors of a network are those of a real one.
var (
	errReset   error = &net.OpError{Op: "read", Net: "tcp", Addr: address, Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	errRefused error = &net.OpError{Op: "dial", Net: "tcp", Addr: address, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errBroken  error = &net.OpError{Op: "write", Net: "tcp", Addr: address, Err: os.NewSyscallError("write", syscall.EPIPE)}
	address          = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
)

// outage is what happens to the connections of a run. Units are counted from 0: the events of a Feed, or the writes of
// a server.
type outage struct {
	fate    fate          // how the first connection that is about to send the unit at breaks
	at      int           // negative: none breaks
	amid    bool          // half of the unit is sent before
	refuse  int           // the number of connections that are refused after the break
	lasts   time.Duration // how long after the break no connection works:
	accepts bool          // they are accepted and closed, not refused
	hold    time.Duration // how long the unit at is held back; then the connection is cut
	flaps   bool          // each connection is cut after its first value,
	after   time.Duration // or this long after it
	restart bool          // the server is stopped at the break, and another one started after a second
	gone    int           // the number of events that are gone after the break, the first ones
}

// hotLoop is the number of connections in a minute that no client needs.
const hotLoop = 600

// network connects one client, and records its connections. It is safe for concurrent use.
type network struct {
	outage
	news chan struct{} // full when something has happened

	onBreak func() // called at the first break
	client  string // the label of the client's goroutines

	mu sync.Mutex // never held during a wait
	record
	links   []*link   // that are open
	wires   []*wire   // all
	free    time.Time // since then there is no connection; zero if there is one
	refused int       // since the break
	heldTo  time.Time
	stopped bool
}

// record is what a client did.
type record struct {
	dials   []time.Time
	waits   []time.Duration // from the end of a connection to the next dial
	broken  time.Time       // the first break; zero before
	units   int             // that have been sent
	sent    int             // units at the break
	asked   []int           // the first event of each connection since the break
	lostErr error           // the last error for a lost position
	back    bool            // a connection has worked since the break
	hot     bool            // it connects too often
	open    bool            // it has a connection now
}

// link is one connection.
type link struct {
	broken chan fate // what breaks it from outside
	wire   *wire     // of a real connection, else nil
	mute   bool      // no further event is sent
}

func newNetwork(o outage) *network { return &network{outage: o, news: make(chan struct{}, 1)} }

func (n *network) wake() {
	select {
	case n.news <- struct{}{}:
	default:
	}
}

// dial opens a connection, or returns an error. It takes a millisecond, whatever the context says, so that time passes
// in every loop.
func (n *network) dial(l *link) error {
	n.begin()
	time.Sleep(dialing)
	n.mu.Lock()
	defer n.mu.Unlock()
	down := !n.broken.IsZero() && (n.refused < n.refuse || time.Since(n.broken) < n.lasts)
	if down && !n.accepts {
		n.refused++
		n.free = time.Now()
		return errRefused
	}
	n.links = append(n.links, l)
	if l.wire != nil {
		n.wires = append(n.wires, l.wire)
	}
	if down {
		n.end(l, ends)
	} else if !n.broken.IsZero() && !n.back {
		n.back = true
		n.wake()
	}
	return nil
}

// begin records a dial. After the run it ends the client's goroutine.
func (n *network) begin() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		runtime.Goexit()
	}
	now := time.Now()
	if !n.free.IsZero() {
		n.waits = append(n.waits, now.Sub(n.free))
		n.free = time.Time{}
	}
	n.dials = append(n.dials, now)
	if k := len(n.dials); !n.hot && k > hotLoop && now.Sub(n.dials[k-1-hotLoop]) < time.Minute {
		n.hot = true
		n.wake()
	}
}

// over records the end of a connection, once.
func (n *network) over(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop(l)
}

func (n *network) drop(l *link) {
	if i := slices.Index(n.links, l); i >= 0 {
		n.links = slices.Delete(n.links, i, i+1)
		n.free = time.Now()
	}
}

// refuses records that a server did not take a connection.
func (n *network) refuses(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.drop(l)
	n.back = false
}

// asks records the first event of a connection, and returns how many of the first events are gone.
func (n *network) asks(next int) int {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.broken.IsZero() {
		return 0
	}
	n.asked = append(n.asked, next)
	return n.gone
}

// loses records the error for a position that is gone, and returns it.
func (n *network) loses(err error) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lostErr = err
	return err
}

// has reports whether the connection has the unit i to send.
func (n *network) has(l *link, i int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case l.mute:
		return false
	case n.hold == 0 || i < n.at || !n.broken.IsZero():
		return true
	case n.heldTo.IsZero():
		n.heldTo = time.Now().Add(n.hold)
		time.AfterFunc(n.hold, func() { n.breakAll(cut) })
	}
	return false
}

// send returns what happens to a connection that is about to send the unit i, or the next one if i is negative.
func (n *network) send(i int) fate {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i < 0 {
		i = n.units
	}
	if i == n.at && n.broken.IsZero() && n.fate != works {
		n.fail()
		return n.fate
	}
	n.units = max(n.units, i+1)
	return works
}

// seen returns what the client did so far.
func (n *network) seen() record {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.record
	r.open = len(n.links) > 0
	return r
}

// stop ends the run: whoever dials from now on is ended.
func (n *network) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	for _, w := range n.wires {
		w.end(cut)
	}
}

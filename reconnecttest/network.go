package reconnecttest

import (
	"context"
	"fmt"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// The errors of a network are those of a real one.
var (
	errReset   error = &net.OpError{Op: "read", Net: "tcp", Addr: address, Err: os.NewSyscallError("read", syscall.ECONNRESET)}
	errRefused error = &net.OpError{Op: "dial", Net: "tcp", Addr: address, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	errNone    error = &net.OpError{Op: "dial", Net: "tcp", Addr: address, Err: os.NewSyscallError("connect", syscall.ETIMEDOUT)}
	errBroken  error = &net.OpError{Op: "write", Net: "tcp", Addr: address, Err: os.NewSyscallError("write", syscall.EPIPE)}
	address          = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80}
)

// network connects one client, breaks its connections as the scenario says, and records what the client does. It is
// safe for concurrent use.
type network struct {
	scenario
	news   judge.News   // full when something has happened
	seen   func()       // is called with each call of the client
	doomed atomic.Bool  // each call ends its goroutine
	delay  atomic.Int64 // of what is written, in ns; 0 for the latency

	restarts func() // starts the server anew
	label    string // the label of the client's goroutines
	polls    bool   // undisturbed, the client writes after each value

	mu sync.Mutex // never held during a wait
	record
	timeline judge.Timeline
	links    []*link   // that work
	wires    []*wire   // all
	free     time.Time // since then there is no connection; zero if there is one
	stopped  bool
	held     bool // the unit at is held back, or was
}

// link is one connection.
type link struct {
	number int // the number of its dial, from 1
	since  time.Time
	offer  func() bool    // hands it to the server, and reports whether that listens; may be nil
	sever  func(how fate) // breaks it
	waits  func() bool    // reports whether the client waits for what it brings; may be nil
	broken bool
	silent bool // that is how it broke
	closed bool // by the client
	mute   bool // no further event is sent
	sent   int  // units
	brings bool // it has brought a value
}

// note writes a line of the timeline. The caller holds n.mu.
func (n *network) note(format string, args ...any) {
	n.timeline.Note(format, args...)
	n.noted()
}

func (n *network) noted() {
	if n.alone {
		n.news.Tell()
	}
}

// dial opens a connection, or returns an error. It takes a millisecond, whatever ctx says, so that time passes in every
// loop.
func (n *network) dial(ctx context.Context, l *link) error {
	n.startDial(l)
	time.Sleep(dialing)
	n.mu.Lock()
	defer n.mu.Unlock()
	down := n.down()
	switch {
	case n.breaks > 0 && n.ignored < n.ignore:
		n.ignored++
		n.note("no answer")
		n.news.Tell()
		n.mu.Unlock()
		err := errNone
		select {
		case <-ctx.Done():
			err = context.Cause(ctx)
		case <-time.After(slowness):
		}
		n.mu.Lock()
		n.startWait(false)
		return err
	case down && n.lets < 0 || n.breaks > 0 && n.refused < n.refuse || l.offer != nil && !l.offer():
		n.refused++
		n.timeline.Again("refused")
		n.noted()
		n.startWait(true)
		return errRefused
	}
	l.since = time.Now()
	n.opened()
	n.links = append(n.links, l)
	n.parallel = max(n.parallel, len(n.links))
	if down && n.lets == 0 {
		n.breakLink(l, ends)
	} else if !down && n.breaks > 0 && !n.back {
		n.back = true
		n.news.Tell()
	}
	return nil
}

func (n *network) down() bool { return n.breaks > 0 && time.Since(n.brokenAt) < n.lasts }

// startDial records a dial. After the run it ends the client's goroutine.
func (n *network) startDial(l *link) {
	n.called(true)
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.stopped {
		runtime.Goexit()
	}
	if n.first && n.breaks == 0 {
		n.fail()
	}
	now := time.Now()
	if !n.free.IsZero() {
		n.waited(now.Sub(n.free))
		n.free = time.Time{}
	}
	n.dials = append(n.dials, now)
	l.number = len(n.dials)
	n.note("dial %d", l.number)
	if k := len(n.dials); k > hotLoop && now.Sub(n.dials[k-1-hotLoop]) < time.Minute {
		n.heats(fmt.Sprintf("it connected more than %d times in a minute", hotLoop))
	}
}

// startWait begins a wait of the client, which has no connection. brief: after a short one, or none.
func (n *network) startWait(brief bool) { n.free, n.brief = time.Now(), brief }

// breakOne breaks a connection.
func (n *network) breakOne(l *link, how fate) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.breakLink(l, how)
}

// breakLink breaks a connection. The caller holds n.mu.
func (n *network) breakLink(l *link, how fate) {
	if l.broken {
		return
	}
	l.broken = true
	if n.flaps {
		n.flapped++
		n.news.Tell()
	}
	n.note("%v of connection %d", how, l.number)
	l.sever(how)
	if l.silent = how == silence && !l.closed; l.silent {
		n.silent++
	} else {
		n.drop(l, time.Since(l.since) < time.Second && !(n.polls && l.brings))
	}
}

func (n *network) drop(l *link, brief bool) {
	if i := slices.Index(n.links, l); i >= 0 {
		n.links = slices.Delete(n.links, i, i+1)
		if !slices.ContainsFunc(n.links, func(l *link) bool { return !l.broken }) {
			n.startWait(brief)
		}
	}
}

// closes records that the client has closed a connection.
func (n *network) closes(l *link) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !l.closed {
		l.closed = true
		n.unclosed--
		if l.silent {
			n.silent--
		}
		n.note("closes connection %d", l.number)
		n.drop(l, false)
	}
}

// breakAll breaks all connections.
func (n *network) breakAll(how fate) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.fail()
	n.endAll(how)
}

func (n *network) endAll(how fate) {
	for _, l := range slices.Clone(n.links) {
		n.breakLink(l, how)
	}
}

// fail records a break. While the server is down or stopped, no connection works, not even an idle one of a pool.
func (n *network) fail() {
	n.breaks++
	n.brokenAt, n.sentBefore, n.back, n.asked, n.unitsSince = time.Now(), n.units, false, nil, 0
	n.timeline.Mark()
	n.news.Tell()
	if n.lasts > 0 || n.restart {
		n.endAll(n.fate)
	}
	if n.restart && n.breaks == 1 {
		go n.restarts()
	}
}

// has reports whether a connection has the unit i to send.
func (n *network) has(l *link, i int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	holds := n.afterwards > 0 && i == n.at && n.breaks == 0
	if holds && !n.held {
		n.held = true
		time.AfterFunc(n.afterwards, func() { n.breakAll(n.fate) })
	}
	return !holds && !l.mute
}

// send returns what happens to a connection that is about to send the unit i, or the next one, a write, if i is
// negative.
func (n *network) send(l *link, i int, write []byte) (how fate) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if i < 0 {
		i = n.units
		if n.undisturbed {
			n.seams = append(n.seams, seams(write))
		}
	}
	due := n.breaks == 0 && i == n.at && n.fate != unbroken
	if n.breaks == 1 && n.again > 0 && l.number > n.dialsBefore {
		n.unitsSince++
		due = n.unitsSince == n.again
	}
	if due {
		n.dialsBefore = len(n.dials)
		n.fail()
		if n.breaks > 1 && n.then != unbroken {
			return n.then
		}
		if n.fate != stall {
			return n.fate
		}
		n.back, how = true, stall
		n.note("pause of connection %d for %v", l.number, n.pause)
	}
	n.units = max(n.units, i+1)
	l.sent++
	if n.breaks > 0 && !n.back && l.number > n.dialsBefore && !n.down() {
		n.back = true // accepted during the outage, and still there
		n.news.Tell()
	}
	n.note("%s %d", n.noun, i+1)
	switch {
	case n.flaps && n.after > 0 && l.sent == 1 && n.cuts < flapCuts:
		n.cuts++
		l.mute = true
		time.AfterFunc(n.after, func() { n.breakOne(l, n.fate) })
	case l.sent == n.lets && n.down():
		time.AfterFunc(2*latency, func() { n.breakOne(l, ends) })
	}
	return how
}

// delivered breaks connections that flap, after a value.
func (n *network) delivered(v any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.note("value %s", judge.AtMost3([]any{v}))
	n.answered, n.vain = true, 0
	for _, l := range n.links {
		l.brings = true
	}
	if n.flaps && n.after == 0 {
		n.endAll(n.fate)
	}
	n.news.Tell()
}

// asks records the first event that a connection asks for, and returns the first that it gets, or the error of gone if
// its position is gone.
func (n *network) asks(next int, gone func(oldest int) error) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.breaks == 0 {
		return next, nil
	}
	n.asked = append(n.asked, next)
	if 0 < next && next < n.gone {
		n.goneErr = gone(n.gone)
		return 0, n.goneErr
	}
	return max(next, n.gone), nil
}

// stop ends the run: whoever dials from now on is ended.
func (n *network) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.stopped = true
	for _, w := range n.wires {
		w.sever(cut)
	}
}

package prove

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"
)

// link is one connection of the program, and the proxy's to the server.
type link struct {
	p      *proxy
	index  int
	client *net.TCPConn

	// Under the proxy's mutex:
	server       *net.TCPConn
	sent         int64 // to the client
	broken       Way
	serverClosed bool
	clientClosed bool
}

// unbroken is the Way of a connection that is not broken.
const unbroken Way = ""

// Connections of a break that have no number.
const (
	nextConnection = -1 // the next one after the break before
	anyConnection  = -2 // whichever it is when the plan's number of values has come
	lastConnection = -3 // whichever it is when all values have come
)

// breaking is one break of a plan.
type breaking struct {
	way    Way // Cut, End or Silence
	conn   int
	at     int64 // bytes of the connection that pass
	before int   // values that the undisturbed program had delivered
	into   int   // bytes of a chunk, as soon as which have passed it breaks; 0: it breaks when the next byte comes
	refuse time.Duration
}

// calm is the time before a break in which what was sent last leaves the proxy's kernel, where RST would drop it. What
// the program's kernel has can be read even after that, as on Linux; elsewhere this is the time to read it.
const calm = 5 * time.Millisecond

// run runs the link until both of its connections are closed.
func (l *link) run() {
	var d net.Dialer
	server, err := d.DialContext(l.p.ctx, "tcp", l.p.c.Server)
	l.p.mu.Lock()
	if err != nil {
		l.p.dialError = err
		l.p.timeline.Note("the server cannot be reached: %v", err)
		l.p.mu.Unlock()
		l.reset()
		return
	}
	l.server = server.(*net.TCPConn)
	l.p.mu.Unlock()
	defer context.AfterFunc(l.p.ctx, l.reset)()
	var up sync.WaitGroup
	up.Go(l.up)
	l.down()
	up.Wait()
	_ = l.client.Close()
	_ = server.Close()
}

// reset ends both connections with RST.
func (l *link) reset() {
	l.p.mu.Lock()
	l.broken = Cut
	server := l.server
	l.p.mu.Unlock()
	reset(l.client)
	reset(server)
}

// worksLocked reports whether both sides have the connection. The caller holds the proxy's mutex.
func (l *link) worksLocked() bool { return l.broken == unbroken && !l.serverClosed && !l.clientClosed }

// replacedLocked reports whether the program has closed the connection and made another one, so that it cannot break.
// The caller holds the proxy's mutex.
func (l *link) replacedLocked() bool { return l.clientClosed && l.index < len(l.p.links)-1 }

// stirLocked records that something passes on the first connection, or on a later one if the program has closed that.
// The caller holds the proxy's mutex.
func (l *link) stirLocked() {
	if l.index == 0 || l.p.links[0].clientClosed {
		l.p.stirred = l.p.c.clock.now()
	}
}

// up passes on what the client sends.
func (l *link) up() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.client.Read(buffer)
		l.p.mu.Lock()
		l.stirLocked()
		way := l.broken
		l.p.mu.Unlock()
		switch {
		case way == unbroken:
			_, _ = l.server.Write(buffer[:n])
		case way == End && n > 0: // a connection that a server has closed does so
			l.reset()
		}
		if err != nil {
			l.passClose(&l.clientClosed, "the program closes", l.server, err)
			return
		}
	}
}

// passClose passes on that the program has closed its connection, or the server its.
func (l *link) passClose(side *bool, who string, other *net.TCPConn, err error) {
	l.p.mu.Lock()
	way := l.broken
	if way == unbroken || side == &l.clientClosed && way != Cut {
		*side = true
		l.p.timeline.Note("%s connection %d", who, l.index+1)
	}
	l.p.mu.Unlock()
	switch {
	case way != unbroken:
	case errors.Is(err, io.EOF):
		_ = other.CloseWrite()
	default:
		reset(other)
	}
	l.p.news.Tell()
}

// down passes on what the server sends, up to the place of a break.
func (l *link) down() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := l.server.Read(buffer)
		for b := buffer[:n]; len(b) > 0; {
			pass, breaks := l.share(b)
			if pass > 0 {
				if _, failed := l.client.Write(b[:pass]); failed != nil {
					reset(l.server)
				}
			}
			if b = b[pass:]; breaks {
				l.breakNow()
			} else if pass == 0 {
				break // swallowed
			}
		}
		if err != nil {
			l.passClose(&l.serverClosed, "the server ends", l.client, err)
			return
		}
	}
}

// share returns how much of what has come from the server passes, and whether the next break follows.
func (l *link) share(b []byte) (pass int, breaks bool) {
	p := l.p
	p.mu.Lock()
	defer p.mu.Unlock()
	if l.broken != unbroken {
		return 0, false
	}
	pass = len(b)
	if p.claimed < len(p.plan) && p.claimed == p.made && !l.replacedLocked() {
		next := &p.plan[p.claimed]
		rest := next.at - l.sent // that passes before the break
		here := next.conn == l.index
		if next.conn == anyConnection && p.count >= next.before ||
			next.conn >= 0 && next.conn < l.index && !p.links[next.conn].worksLocked() { // it has ended before: a later one breaks
			here, rest = true, 0
			if next.into > 0 {
				rest = int64(min(next.into, len(b)-1))
			}
		}
		if here && (rest < int64(len(b)) || next.into > 0 && rest == int64(len(b))) {
			p.claimed++
			pass, breaks = int(max(rest, 0)), true
		}
	}
	if pass > 0 {
		l.stirLocked()
		now := p.c.clock.now()
		if !l.clientClosed {
			p.heardAt = now
			p.heard++
		}
		p.chunks = append(p.chunks, chunk{conn: l.index, at: l.sent, parts: parts(b[:pass]), came: now})
		p.passed = append(p.passed, b[:min(pass, keepBytes-len(p.passed))]...)
		l.sent += int64(pass)
	}
	return pass, breaks
}

// breakNow makes the next break on the link.
func (l *link) breakNow() {
	time.Sleep(calm)
	p := l.p
	p.mu.Lock()
	if l.replacedLocked() {
		p.claimed-- // a later one breaks
		p.mu.Unlock()
		return
	}
	b := p.plan[p.made]
	l.broken = b.way
	server := l.server
	p.made++
	p.brokenAt = p.c.clock.now()
	p.backAt = time.Time{}
	text := map[Way]string{Cut: "is cut", End: "is ended", Silence: "falls silent"}[b.way]
	p.timeline.Note("connection %d %s after %d bytes", l.index+1, text, l.sent)
	if b.refuse > 0 {
		p.refusing, p.refusesBy = time.Now().Add(b.refuse), b.way
	}
	p.mu.Unlock()
	switch b.way {
	case Cut:
		l.reset()
	case End:
		_ = l.client.CloseWrite()
		_ = server.Close()
	}
	p.news.Tell()
}

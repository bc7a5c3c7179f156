package prove

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// proxy stands between one run of a program and the server, and breaks connections as planned.
type proxy struct {
	c      *check
	l      net.Listener
	news   judge.News // full when something has happened
	cancel context.CancelFunc
	ctx    context.Context
	tasks  sync.WaitGroup

	mu sync.Mutex
	seen
	links     []*link
	plan      []breaking
	refusing  time.Time     // until when connections are refused,
	refusesBy Way           // and how: Cut or End
	claimed   int           // breaks that a link is about to make, or has made
	noted     int           // refusals that the timeline has
	refusals  int           // that go on,
	refusedAt time.Time     // when the last one was over,
	calmed    time.Duration // and how long calm was for it, on a machine that may be busy
	chunks    []chunk
	stirred   time.Time // when something passed on the first connection
	heardAt   time.Time // when something came from the server on a connection that the program has not closed,
	heard     int       // how often,
	atEvents  int       // and how often before the events began
	count     int       // values that the program has delivered
	passed    []byte    // what has come from the server, the first part of it,
	read      int       // and how much of it the values so far are in
	timeline  judge.Timeline
}

// chunk is what came from the server at once.
type chunk struct {
	conn  int
	at    int64 // the bytes of the connection before it
	parts []int // after how many bytes of it a connection breaks in the middle
	came  time.Time
}

// mostLines is how many lines of a chunk end where it can break.
const mostLines = 6

// parts returns after how many bytes of a chunk a connection breaks in the middle: after the first byte, at the half
// (before its newlines, so that a line is not whole), and after the newlines in it.
func parts(b []byte) []int {
	if len(b) < 2 {
		return nil
	}
	var lines []int
	for i, c := range b[:len(b)-1] {
		if c == '\n' {
			lines = append(lines, i+1)
		}
	}
	all := append(spread(lines, mostLines), max(1, len(bytes.TrimRight(b[:len(b)/2], "\n"))), 1)
	slices.Sort(all)
	return slices.Compact(all)
}

// keepBytes is how much of what has come from the server is kept.
const keepBytes = 1 << 20

// listen starts a proxy with a plan, which is complete before the first connection can come.
func (c *check) listen(ctx context.Context, plan []breaking) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("prove: the proxy: %w", err)
	}
	p := &proxy{c: c, l: l, news: judge.NewNews(), plan: slices.Clone(plan), timeline: judge.NewTimeline(time.Millisecond)}
	p.ctx, p.cancel = context.WithCancel(ctx)
	p.tasks.Go(p.accept)
	return p, nil
}

// close ends all connections and waits for the proxy's goroutines.
func (p *proxy) close() {
	p.cancel()
	_ = p.l.Close()
	p.tasks.Wait()
}

func (p *proxy) accept() {
	for {
		c, err := p.l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // too many open files, say
			p.note("the proxy cannot accept a connection: %v", err)
			time.Sleep(10 * time.Millisecond)
			continue
		}
		if l := p.admit(c.(*net.TCPConn)); l != nil {
			p.tasks.Go(l.run)
		} else {
			p.tasks.Go(func() { p.refuse(c.(*net.TCPConn)) })
		}
		p.news.Tell()
	}
}

// admit makes a link of a connection, or returns nil if connections are refused.
func (p *proxy) admit(c *net.TCPConn) *link {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.first.IsZero() {
		p.first = p.c.clock.now()
		p.stirred = p.first
	}
	if now.Before(p.refusing) {
		p.refused++
		if p.refusals == 0 && now.Sub(p.refusedAt) < p.calmed {
			p.hasty++
		}
		p.refusals++
		return nil
	}
	p.noteRefusalsLocked()
	l := &link{p: p, index: len(p.links), client: c}
	p.links = append(p.links, l)
	if p.made > 0 && p.backAt.IsZero() {
		p.backAt = p.c.clock.now()
	}
	if p.made == p.claimed && p.made > 0 && p.made < len(p.plan) && p.plan[p.made].conn == nextConnection {
		p.plan[p.made].conn = l.index
	}
	p.timeline.Note("connection %d", l.index+1)
	return l
}

// Events begin when nothing has passed on the first connection for a while, so that a program has subscribed; but it may
// have heartbeats.
const settled, mostSettling = 300 * time.Millisecond, 3 * time.Second

// subscribed reports whether it is time for events, and notes where they begin.
func (p *proxy) subscribed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.atEvents = p.heard
	now := p.c.clock.now()
	return !p.first.IsZero() && (now.Sub(p.stirred) >= settled || now.Sub(p.first) >= mostSettling)
}

// refuse ends a connection, a little later: so connections that were made at once are not one after the other.
func (p *proxy) refuse(c *net.TCPConn) {
	start := time.Now()
	time.Sleep(calm)
	p.mu.Lock()
	p.refusals--
	p.refusedAt, p.calmed = time.Now(), time.Since(start)
	how := p.refusesBy
	p.mu.Unlock()
	if how == Cut {
		reset(c)
		return
	}
	defer func() { _ = c.Close() }()
	defer context.AfterFunc(p.ctx, func() { _ = c.Close() })()
	_ = c.CloseWrite()
	_ = c.SetReadDeadline(time.Now().Add(time.Second))
	_, _ = io.Copy(io.Discard, c) // a close of what is not read would be a reset
}

// noteRefusalsLocked notes how many connections were refused, in one line. The caller holds the mutex.
func (p *proxy) noteRefusalsLocked() {
	if more := p.refused - p.noted; more > 0 {
		p.noted = p.refused
		p.timeline.Note("until here %s refused", judge.Count(more, "connection"))
	}
}

// delivered records a value. After the last one, a connection may break.
func (p *proxy) delivered(value string, last bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.c.clock.now()
	p.count++
	p.followLocked(value, now)
	p.lastAt = now
	p.timeline.Note("value %q", value)
	if last && p.claimed == 0 && len(p.plan) > 0 && p.plan[0].conn == lastConnection {
		p.tasks.Go(p.breakLast)
	}
}

// breakLast breaks the connection that works a while after the last value, or else the next one.
func (p *proxy) breakLast() {
	pause(p.ctx, afterLast)
	p.mu.Lock()
	i := slices.IndexFunc(p.links, func(l *link) bool { return l.worksLocked() && l.server != nil })
	if p.claimed > 0 || i < 0 {
		p.plan[0].conn = anyConnection
		p.mu.Unlock()
		return
	}
	p.claimed++
	p.plan[0].conn = i
	l := p.links[i]
	p.mu.Unlock()
	l.breakNow()
}

func (p *proxy) note(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.timeline.Note(format, args...)
}

// seen is what a proxy has seen of a program.
type seen struct {
	first     time.Time // the first connection
	lastAt    time.Time // the last value; zero if none has come
	made      int       // breaks that have taken place
	brokenAt  time.Time // the last one
	backAt    time.Time // when a connection has been accepted since; zero if none has
	refused   int
	hasty     int // connections that came without a wait after one was refused
	unread    int // values whose text is not in what has come from the server after the values before,
	past      int // and of these the ones that cannot have come through the proxy
	dialError error

	// When somebody looks:
	back      bool // it has connected again since the last break
	working   bool // a connection works
	noticed   bool // it has closed the connections that are silent
	came      bool // something has come from the server
	connected int  // connections
}

func (p *proxy) look() seen {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.seen
	s.back, s.noticed, s.came, s.connected = !s.backAt.IsZero(), true, len(p.chunks) > 0, len(p.links)
	for _, l := range p.links {
		s.working = s.working || l.worksLocked()
		s.noticed = s.noticed && (l.broken != Silence || l.clientClosed)
	}
	return s
}

// held waits until the program has closed its connections, a second at most, and returns how many it has not closed,
// although nobody else has ended them.
func (p *proxy) held() (n int) {
	p.c.clock.until(time.Second, func() bool {
		p.mu.Lock()
		defer p.mu.Unlock()
		n = len(slices.DeleteFunc(slices.Clone(p.links), func(l *link) bool { return l.broken == Cut || l.clientClosed }))
		return n == 0
	})
	return n
}

// reset closes a connection with RST.
func reset(c *net.TCPConn) {
	if c != nil {
		_ = c.SetLinger(0)
		_ = c.Close()
	}
}

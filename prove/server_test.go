package prove_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/check"
	"github.com/retrywhen/retrywhen/prove"
)

// server has a log of lines for each run. A client sends "NAME N", and gets the lines after the N-th; N -1 is the end
// of the log. While there is none it gets an empty line as a heartbeat, unless NAME begins with "where".
type server struct {
	addr string

	mu   sync.Mutex
	logs map[string]*log
}

// log is the log of a run.
type log struct {
	lines []string
	more  chan struct{} // closed, and replaced, with each line
}

const (
	heartbeat = 400 * time.Millisecond
	patience  = 2 * time.Second // of a client with a connection that is silent
)

func newServer(t *testing.T) *server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	check.Must(t, err)
	s := &server{addr: l.Addr().String(), logs: map[string]*log{}}
	ctx, cancel := context.WithCancel(context.Background())
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			tasks.Go(func() { s.serve(ctx, c) })
		}
	})
	t.Cleanup(func() {
		cancel()
		_ = l.Close()
		tasks.Wait()
	})
	return s
}

func (s *server) serve(ctx context.Context, c net.Conn) {
	defer func() { _ = c.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	defer stop()
	var name string
	var next int
	if _, err := fmt.Fscanf(c, "%s %d\n", &name, &next); err != nil {
		return
	}
	if next < 0 { // -1 is the end, -2 the last line
		lines, _ := s.read(name)
		next = max(len(lines)+1+next, 0)
	}
	beat := time.NewTimer(heartbeat)
	defer beat.Stop()
	for ctx.Err() == nil {
		lines, more := s.read(name)
		text := ""
		if next < len(lines) {
			text = lines[next]
			next++
		} else {
			select {
			case <-more:
				continue
			case <-ctx.Done():
				return
			case <-beat.C:
				if strings.HasPrefix(name, "where") {
					continue
				}
			}
		}
		beat.Reset(heartbeat)
		if _, err := fmt.Fprintln(c, text); err != nil {
			return
		}
	}
}

// read returns a run's lines, and the channel that is closed when there are more.
func (s *server) read(name string) ([]string, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ofRun(name)
	return l.lines, l.more
}

func (s *server) append(_ context.Context, r prove.Run, n int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.ofRun(r.Name)
	l.lines = append(l.lines, fmt.Sprintf("event %d", n))
	close(l.more)
	l.more = make(chan struct{})
	return nil
}

func (s *server) ofRun(name string) *log {
	if s.logs[name] == nil {
		s.logs[name] = &log{more: make(chan struct{})}
	}
	return s.logs[name]
}

// fill makes all events at once.
func (s *server) fill(ctx context.Context, r prove.Run) error {
	for n := 1; n <= 6; n++ {
		if err := s.append(ctx, r, n); err != nil {
			return err
		}
	}
	return nil
}

// target is a client of the server, with times that a busy machine can keep.
func (s *server) target(client func(context.Context, prove.Run, func(string)) error) prove.Target {
	return prove.Target{
		Server: s.addr, Client: client, Event: s.append, Events: 6, Every: 100 * time.Millisecond,
		Within: 4 * time.Second, Quiet: time.Second, Stop: 2 * time.Second,
	}
}

// client is a client of the server, with its faults.
type client struct {
	again      bool // it asks for all after a failure,
	fromEnd    bool // or for what is new
	now        bool // it asks for what is new until it has got something
	half       bool // a line without an end is a line
	givesUp    bool // it returns nil after a failure,
	fails      bool // or the error, if there is one,
	failsAt    int  // or only if it has so many lines
	spins      bool // it does not wait,
	spinsAtEnd bool // or not after an end without an error
	deaf       bool // it reads without a deadline
	stubborn   bool // it does not return when ctx ends
	keeps      bool // it does not close its connections
	second     bool // after the second failure it asks for one line too many
	swaps      bool // after a failure it delivers the next two lines in the other order
	leaves     bool // it does not come back
	lastOnly   bool // after a failure it asks for the last line only
	past       bool // it reads from the server itself, but for a connection that it holds
	finite     bool // it returns after the sixth line
	reconnects bool // after the first line it connects again
	polls      bool // it asks for what there is, on one connection after the other
	writes     bool // it notices by a write that the server has ended the connection
	panics     bool
	failed     bool // there was a failure
	direct     bool // it does not use the proxy at all
	transform  func(string) string
}

func (c client) run(ctx context.Context, r prove.Run, got func(string)) error {
	if c.stubborn {
		defer func() { <-time.After(3 * time.Second) }()
	}
	next, failures := 0, 0
	if c.past {
		return c.runPast(ctx, r, got)
	}
	if c.direct {
		r.Addr = r.Server
	}
	for wait := 5 * time.Millisecond; ctx.Err() == nil; {
		from := next
		if c.now && next == 0 {
			from = -1
		}
		count, err := c.read(ctx, r, from, got)
		if count > 0 {
			wait = 5 * time.Millisecond
		}
		if next += count; c.finite && next == 6 {
			return nil
		}
		if count > 0 {
			failures++
		}
		c.failed = true
		switch {
		case c.panics:
			panic("a bug")
		case c.givesUp:
			return nil
		case (c.fails || c.failsAt > 0 && next == c.failsAt) && err != nil && ctx.Err() == nil:
			return err
		case c.again:
			next = 0
		case c.leaves:
			<-ctx.Done()
		case c.lastOnly:
			next = -2
		case c.fromEnd:
			next = -1
		case c.second && failures == 2:
			next++
		}
		if !c.spins && !(c.spinsAtEnd && err == io.EOF) {
			wait = min(2*wait, 200*time.Millisecond)
			select {
			case <-time.After(wait + 20*time.Millisecond):
			case <-ctx.Done():
			}
		}
	}
	return nil
}

var kept sync.Map

// read reads lines until the connection fails, and returns how many.
func (c client) read(ctx context.Context, r prove.Run, next int, got func(string)) (count int, err error) {
	conn, err := net.Dial("tcp", r.Addr)
	if err != nil {
		return 0, err
	}
	if c.keeps {
		kept.Store(conn, true) // else the garbage collector closes it
	} else {
		defer func() { _ = conn.Close() }()
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Now()) })
	defer stop()
	_, _ = fmt.Fprintln(conn, r.Name, next)
	lines := bufio.NewReader(conn)
	held := ""
	for {
		if !c.deaf && ctx.Err() == nil {
			_ = conn.SetReadDeadline(time.Now().Add(patience))
		}
		line, err := lines.ReadString('\n')
		if held != "" && (err != nil || line == "\n") {
			got(held)
			held = ""
		}
		for c.writes && err == io.EOF && ctx.Err() == nil {
			time.Sleep(20 * time.Millisecond)
			if _, failed := conn.Write([]byte("ping\n")); failed != nil {
				err = failed
			}
		}
		if err != nil && (!c.half || line == "") {
			return count, err
		}
		if line = strings.TrimSpace(line); line != "" {
			count++
			if c.swaps && c.failed && count == 1 {
				held = line
				continue
			}
			if c.transform != nil {
				line = c.transform(line)
			}
			got(line)
			if held != "" {
				got(held)
				held = ""
			}
			if c.finite && next+count == 6 || c.reconnects && next+count == 1 {
				return count, nil
			}
		} else if c.polls && err == nil {
			return count, nil
		}
		if err != nil {
			return count, err
		}
	}
}

// runPast asks a connection through the proxy for nothing, and reads from the server itself.
func (c client) runPast(ctx context.Context, r prove.Run, got func(string)) error {
	var task sync.WaitGroup
	defer task.Wait()
	task.Go(func() {
		_ = client{leaves: c.leaves}.run(ctx, prove.Run{Name: "nothing" + r.Name, Addr: r.Addr}, func(string) {})
	})
	return client{direct: true}.run(ctx, r, got)
}

// checked is target.Check. It passes what holds on a busy machine only: no report if that is too busy.
func checked(t *testing.T, target prove.Target, judge func(prove.Report, error)) {
	t.Helper()
	if report, err := target.Check(t.Context()); errors.Is(err, prove.ErrBusy) {
		t.Log(err)
	} else {
		judge(report, err)
	}
}

package calls

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// Server plays a way to one run of a program, and records what the program does. It is safe for concurrent use.
type Server struct {
	Way     Way
	Target  string                                                     // METHOD /path of the requests that are disturbed; "": none
	Answer  string                                                     // to each undisturbed request,
	Pass    func(r *http.Request, body []byte) (*http.Response, error) // unless this passes them on
	Lag     time.Duration                                              // from writing to reading, and
	Dialing time.Duration                                              // for making a connection: both are no part of a wait
	Stood   func() time.Duration                                       // for how long the machine has stood still; may be nil
	News    judge.News                                                 // full when something has happened

	tasks sync.WaitGroup

	mu       sync.Mutex // never held during a wait
	requests []*Request // of the target
	all      []string   // the names of all requests
	served   int        // requests of the target that succeeded
	conns    []*conn
	timeline judge.Timeline
}

// NewServer returns a server whose timeline begins now, and has times that are multiples of round.
func NewServer(w Way, target, answer string, round time.Duration) *Server {
	return &Server{Way: w, Target: target, Answer: answer, News: judge.NewNews(), timeline: judge.NewTimeline(round)}
}

// conn is a connection of the program.
type conn struct {
	net.Conn
	number int
	since  time.Time
	asked  int      // requests
	busy   bool     // an answer is due
	waits  *Request // that has no answer
	ended  bool     // by the server
	gone   bool     // closed by the program, or reset
}

// calm is the time before a reset, in which the program gets what was sent before.
const calm = 5 * time.Millisecond

// Serve serves connections until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) {
	defer s.tasks.Wait()
	defer context.AfterFunc(ctx, func() { _ = l.Close() })()
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil || errors.Is(err, net.ErrClosed):
			return
		case err != nil: // too many open files, say
			time.Sleep(calm)
			continue
		}
		s.mu.Lock()
		k := &conn{Conn: c, number: len(s.conns) + 1, since: time.Now()}
		s.conns = append(s.conns, k)
		s.mu.Unlock()
		s.tasks.Go(func() {
			defer context.AfterFunc(ctx, func() { s.reset(k) })()
			s.serve(ctx, k)
			_ = k.Close()
		})
	}
}

// reset ends a connection with RST, so that an error follows.
func (s *Server) reset(c *conn) {
	if l, ok := c.Conn.(interface{ SetLinger(sec int) error }); ok {
		_ = l.SetLinger(0)
	}
	_ = c.Close()
	s.mu.Lock()
	c.gone = true
	s.mu.Unlock()
}

// end ends a connection with FIN.
func (s *Server) end(c *conn) {
	s.mu.Lock()
	c.ended = true
	s.mu.Unlock()
	if l, ok := c.Conn.(interface{ CloseWrite() error }); ok {
		_ = l.CloseWrite()
		return
	}
	_ = c.Close()
}

// serve answers the requests of a connection.
func (s *Server) serve(ctx context.Context, c *conn) {
	in := bufio.NewReader(c)
	for {
		_, err := in.Peek(1)
		s.mu.Lock()
		stale := c.ended && err == nil
		s.mu.Unlock()
		if err != nil || stale { // what comes after the server's end is not read by anyone
			s.closes(c, stale)
			return
		}
		at := time.Now().Add(-s.Lag)
		s.mu.Lock()
		if c.asked == 0 {
			at = at.Add(-s.Dialing)
		}
		c.asked++
		c.busy = true
		s.mu.Unlock()
		r, err := http.ReadRequest(in)
		if err != nil {
			s.closes(c, false)
			return
		}
		if strings.EqualFold(r.Header.Get("Expect"), "100-continue") {
			_, _ = io.WriteString(c, "HTTP/1.1 100 Continue\r\n\r\n")
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			s.closes(c, false)
			return
		}
		if !s.reply(ctx, c, r, body, s.enter(c, at, r, body)) {
			return
		}
	}
}

// closes records that the program has closed a connection.
func (s *Server) closes(c *conn, stale bool) {
	s.mu.Lock()
	if !c.gone {
		s.timeline.Note("closes connection %d", c.number)
	}
	c.gone = true
	if c.waits != nil && c.waits.over.IsZero() {
		c.waits.over = time.Now()
	}
	s.mu.Unlock()
	if stale {
		s.reset(c)
	}
	s.News.Tell()
}

// enter records a request. One that is not disturbed has the answer of what succeeds.
func (s *Server) enter(c *conn, at time.Time, r *http.Request, body []byte) *Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := newRequest(r, body)
	if s.Stood != nil {
		q.stood = s.Stood()
	}
	q.At, q.Conn, q.Others = at, c.number, len(s.all)-len(s.requests)
	s.all = append(s.all, q.Name)
	s.timeline.Note("%s on connection %d", q.Name, c.number)
	defer s.News.Tell()
	if q.Name == s.Target {
		s.requests = append(s.requests, q)
		q.answer = s.Way.answer(len(s.requests))
		q.after, q.until = q.answer.retryAfter(time.Now())
	}
	return q
}

// reply writes the answer to a request. It reports whether the connection goes on.
func (s *Server) reply(ctx context.Context, c *conn, r *http.Request, body []byte, q *Request) bool {
	a := q.answer
	if a.fate == silent {
		s.mu.Lock()
		c.waits = q
		s.timeline.Note("no answer")
		s.mu.Unlock()
		return true // until the program closes the connection
	}
	head, content := s.content(ctx, r, body, q)
	closes := r.Close || a.fate == closed || a.fate.cuts() || a.fate == ended
	if r.Close {
		head.Set("Connection", "close")
	}
	if r.Method == http.MethodHead {
		content = nil
	}
	text := response(head, content, a)
	if a.fate == reset || a.fate == halfReset {
		time.Sleep(calm)
	}
	s.mu.Lock()
	c.busy = a.fate == closed || a.fate == reset || a.fate.cuts()
	q.over = time.Now().Add(s.Lag)
	if q.Name == s.Target && a.status == 0 && (a.fate == whole || a.fate == ended) {
		s.served++
	}
	s.timeline.Note("%s %s%s", head.Get("Status"), head.Get("Retry-After"), [...]string{"", ", and the server closes the connection", "", ": reset",
		": closed", ": half of it, closed", ": half of it, reset", ": half of it, in chunks, closed"}[a.fate])
	s.mu.Unlock()
	if len(text) > 0 {
		_, _ = c.Write(text)
	}
	switch {
	case a.fate == reset:
		s.reset(c)
	case a.fate == halfReset:
		time.Sleep(calm)
		s.reset(c)
	case closes:
		s.end(c)
	}
	return a.fate != reset && a.fate != halfReset
}

// content returns the head and the body of what is the answer if nothing breaks. head has the key Status.
func (s *Server) content(ctx context.Context, r *http.Request, body []byte, q *Request) (http.Header, []byte) {
	head := http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}, "Status": {"200 OK"}, "Content-Type": {"text/plain; charset=utf-8"}}
	if status := q.answer.status; status != 0 {
		text := fmt.Sprintf("%d %s", status, http.StatusText(status))
		head.Set("Status", text)
		if q.after != "" {
			head.Set("Retry-After", q.after)
		}
		return head, []byte(text + "\n")
	}
	if s.Pass == nil {
		if strings.HasPrefix(strings.TrimSpace(s.Answer), "{") {
			head.Set("Content-Type", "application/json")
		}
		return head, []byte(s.Answer)
	}
	resp, err := s.Pass(r.WithContext(ctx), body)
	if err != nil {
		head.Set("Status", "502 Bad Gateway")
		return head, []byte(err.Error() + "\n")
	}
	defer func() { _ = resp.Body.Close() }()
	head = resp.Header.Clone()
	for _, name := range append(hop, "Status") {
		head.Del(name)
	}
	head.Set("Status", resp.Status)
	content, _ := io.ReadAll(resp.Body)
	return head, content
}

// response returns the bytes that are written.
func response(head http.Header, content []byte, a answer) []byte {
	var text bytes.Buffer
	fmt.Fprintf(&text, "HTTP/1.1 %s\r\n", head.Get("Status"))
	if a.fate == chunks {
		head.Set("Transfer-Encoding", "chunked")
	} else {
		head.Set("Content-Length", fmt.Sprint(len(content)))
	}
	_ = head.WriteSubset(&text, map[string]bool{"Status": true}) // a Buffer returns no error
	text.WriteString("\r\n")
	begun := text.Len()
	part := content[:len(content)/2]
	switch {
	case a.fate == reset || a.fate == closed:
		return nil
	case a.fate.cuts() && len(part) == 0:
		return text.Bytes()[:begun/2]
	case a.fate == chunks:
		fmt.Fprintf(&text, "%x\r\n%s\r\n", len(part), part)
	case a.fate.cuts():
		text.Write(part)
	default:
		text.Write(content)
	}
	return text.Bytes()
}

// Note writes a line of the timeline.
func (s *Server) Note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timeline.Note(format, args...)
}

// Seen is what a server has seen so far.
type Seen struct {
	First    time.Time // the first request; zero if there is none
	Answered time.Time // the first answer to the target, likewise
	Requests int       // of the target
	Hot      bool      // it asks so often that nothing more need be seen
}

// Look returns what the server has seen so far.
func (s *Server) Look() (seen Seen) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen.Requests = len(s.requests)
	if len(s.conns) > 0 {
		seen.First = s.conns[0].since
	}
	if seen.Requests > 0 {
		seen.Answered = s.requests[0].over
	}
	if n := seen.Requests; n > enough {
		seen.Hot = s.requests[n-1].At.Sub(s.requests[n-1-enough].At) < hotSpan
	}
	return seen
}

// Fill adds to r what the server has seen so far, but for the timeline.
func (s *Server) Fill(r *Run) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r.Way, r.Names, r.served = s.Way, slices.Clone(s.all), s.served
	for _, q := range s.requests {
		r.requests = append(r.requests, *q)
	}
}

// Lines returns the timeline.
func (s *Server) Lines() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.timeline.Lines()
}

// EndIdle ends the connections between two requests.
func (s *Server) EndIdle() {
	s.mu.Lock()
	idle := slices.DeleteFunc(slices.Clone(s.conns), func(c *conn) bool { return c.busy || c.ended || c.gone || c.asked == 0 })
	s.mu.Unlock()
	for _, c := range idle {
		s.end(c)
	}
}

// Open returns the number of connections that the program has not closed.
func (s *Server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return count(s.conns, func(c *conn) bool { return !c.gone })
}

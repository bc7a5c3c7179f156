package durable

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// must fails the test at an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// panics checks what f panics with.
func panics(t *testing.T, want string, f func()) {
	t.Helper()
	defer func() {
		if got := fmt.Sprint(recover()); got != want {
			t.Errorf("panicked with %s, want %s", got, want)
		}
	}()
	f()
}

// server is what the methods of a Queue see of a server: the answers are given by functions, and what was published
// and looked at is recorded. A function that is nil answers as a server that has nothing and stores everything.
type server struct {
	publish func(m *nats.Msg) error                               // of the n-th publication
	last    func(subject string) (*jetstream.RawStreamMsg, error) // of the last message of a subject; nil looks in stored
	fails   map[string]error                                      // of the calls that are recorded with these words, see call
	stored  []*jetstream.RawStreamMsg                             // what can be read, in order
	pending map[string]uint64                                     // what the consumers that count have counted
	cluster string                                                // the name of connected's cluster, "" for none
	version string                                                // of connected, default 2.15.2
	respond func(subject string) string                           // of connected, to requests; "" is no response
	hangsUp atomic.Bool                                           // connected ends at the next ping
	silent  atomic.Bool                                           // connected answers no ping
	pinged  atomic.Int64                                          // pings of connected
	got     atomic.Pointer[nats.Msg]                              // the last message with headers that connected has sent
	mu      sync.Mutex
	log     []string
	sent    []*nats.Msg // copies
	seq     uint64      // of the last message

	delivered map[uint64]func() *jetstream.RawStreamMsg         // the messages of deliveries, by their sequences
	holds     func(seq uint64) (*jetstream.RawStreamMsg, error) // answers a question for the message of a delivery, which is then recorded
}

// delivers notes the message of a delivery: a question for it finds it.
func (s *server) delivers(seq uint64, subject string, at func() time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.delivered == nil {
		s.delivered = make(map[uint64]func() *jetstream.RawStreamMsg)
	}
	s.delivered[seq] = func() *jetstream.RawStreamMsg {
		return &jetstream.RawStreamMsg{Subject: subject, Sequence: seq, Time: at()}
	}
}

// held answers a question for the message of a delivery.
func (s *server) held(seq uint64) (*jetstream.RawStreamMsg, error) {
	if s.holds != nil {
		s.note("ask for %d", seq)
		return s.holds(seq)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m := s.delivered[seq]; m != nil {
		return m(), nil
	}
	return nil, jetstream.ErrMsgNotFound
}

func (s *server) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, fmt.Sprintf(format, args...))
}

// took returns what was recorded since the last call.
func (s *server) took() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.log, "; ")
	s.log = nil
	return all
}

// did fails the test unless this is what was recorded since the last call.
func (s *server) did(t *testing.T, want string) {
	t.Helper()
	if got := s.took(); got != want {
		t.Errorf("it did %q, want %q", got, want)
	}
}

// bubble runs a subtest in a bubble.
func bubble(t *testing.T, name string, test func(t *testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// lastSent returns the last message that was published.
func (s *server) lastSent() *nats.Msg {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sent) == 0 {
		return &nats.Msg{Header: nats.Header{}}
	}
	return s.sent[len(s.sent)-1]
}

var alwaysRefused = slices.Repeat([]error{refused}, 99)

// inTurn returns a publish that fails with these errors, one after another, and then stores everything.
func inTurn(errs ...error) func(*nats.Msg) error {
	var n atomic.Int64
	return func(*nats.Msg) error {
		if i := int(n.Add(1)); i <= len(errs) {
			return errs[i-1]
		}
		return nil
	}
}

type fakeJetStream struct {
	jetstream.JetStream
	s *server
}

func (f fakeJetStream) PublishMsg(ctx context.Context, m *nats.Msg, _ ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	f.s.mu.Lock()
	h := nats.Header{}
	for k, v := range m.Header {
		h[k] = append([]string(nil), v...)
	}
	f.s.sent = append(f.s.sent, &nats.Msg{Subject: m.Subject, Header: h, Data: m.Data})
	f.s.mu.Unlock()
	f.s.note("put %s", m.Subject[strings.LastIndexByte(m.Subject, '.')+1:])
	if f.s.publish != nil {
		if err := f.s.publish(m); err == errNoResponse {
			<-ctx.Done()
			return nil, ctx.Err()
		} else if err != nil {
			return nil, err
		}
	}
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	f.s.seq++
	return &jetstream.PubAck{Sequence: f.s.seq}, nil
}

// errNoResponse makes a publication wait for its context.
var errNoResponse = errors.New("no response")

// refused is the server's error for a condition that does not hold.
var refused = &jetstream.APIError{Code: 400, ErrorCode: jetstream.JSErrCodeStreamWrongLastSequence, Description: "wrong last sequence"}

type fakeStream struct {
	jetstream.Stream
	s *server
}

func (f fakeStream) GetLastMsgForSubject(_ context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	f.s.note("last %s", subject[strings.LastIndexByte(subject, '.')+1:])
	if f.s.last != nil {
		return f.s.last(subject)
	}
	before, after, _ := strings.Cut(subject, "*")
	f.s.mu.Lock()
	defer f.s.mu.Unlock()
	for _, m := range slices.Backward(f.s.stored) {
		if strings.HasPrefix(m.Subject, before) && strings.HasSuffix(m.Subject, after) {
			return m, nil
		}
	}
	return nil, jetstream.ErrMsgNotFound
}

// fakeMsg is a delivery of a message. It records how it is acknowledged.
type fakeMsg struct {
	jetstream.Msg
	s       *server
	subject string
	header  nats.Header
	data    []byte
	meta    *jetstream.MsgMetadata
	err     error // of each acknowledgement
}

func (m *fakeMsg) Subject() string                           { return m.subject }
func (m *fakeMsg) Headers() nats.Header                      { return m.header }
func (m *fakeMsg) Data() []byte                              { return m.data }
func (m *fakeMsg) Metadata() (*jetstream.MsgMetadata, error) { return m.meta, m.err }
func (m *fakeMsg) Ack() error                                { m.s.note("ack"); return m.err }
func (m *fakeMsg) DoubleAck(context.Context) error           { m.s.note("double ack"); return m.err }
func (m *fakeMsg) InProgress() error                         { m.s.note("in progress"); return m.err }

func (m *fakeMsg) NakWithDelay(d time.Duration) error {
	if d > 0 {
		m.s.note("nak in %v", d.Round(time.Second/10))
	} else {
		m.s.note("nak")
	}
	return m.err
}

// fakeQueue returns a queue on the server. Its connection is not connected, unless it is replaced by connected.
func fakeQueue(t *testing.T, s *server, c Config) *Queue {
	t.Helper()
	if c.Name == "" {
		c.Name = "q"
	}
	if c.Logger == nil {
		c.Logger = slog.New(fakeLog{s: s})
	}
	c, err := c.withDefaults()
	must(t, err)
	if c.adopt(nil); c.checkSettings(Config{Remember: 1}) != nil {
		t.Fatal(c.checkSettings(Config{Remember: 1}))
	}
	q := newQueue(c, new(nats.Conn))
	q.js, q.jobs = fakeJetStream{s: s}, fakeStream{s: s}
	q.ctx, q.cancel = context.WithCancelCause(t.Context())
	t.Cleanup(func() { q.cancel(nil) })
	q.leaseTime.Store(int64(c.Lease))
	addConsumers(q, s)
	now := time.Now()
	q.gaps.tick(now, c.Lease)
	q.gaps.responded(now, c.Lease)
	s.seq = 100
	q.cancels = new(nats.Subscription) // it is a worker
	return q
}

// fake returns a queue on a server that has nothing and stores everything.
func fake(t *testing.T, c Config) (*server, *Queue) {
	t.Helper()
	s := new(server)
	return s, fakeQueue(t, s, c)
}

// fakeOnline returns such a queue, which is connected.
func fakeOnline(t *testing.T, c Config) (*server, *Queue) {
	t.Helper()
	s := new(server)
	return s, online(t, s, c)
}

// fakeLog records the messages of a logger. Their attributes must be complete: each has a name, one is the queue's.
type fakeLog struct {
	s     *server
	named bool
}

func (l fakeLog) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelInfo }
func (l fakeLog) WithGroup(string) slog.Handler                    { return l }
func (l fakeLog) WithAttrs(all []slog.Attr) slog.Handler {
	return fakeLog{l.s, len(all) == 1 && all[0].Key == "queue" && all[0].Value.String() == "q"}
}
func (l fakeLog) Handle(_ context.Context, r slog.Record) error {
	l.s.note("log: %s", r.Message)
	r.Attrs(func(a slog.Attr) bool {
		if !logged[a.Key] || a.Key == "id" && a.Value.String() != "x" || a.Key == "kind" && a.Value.String() == "x" {
			l.s.note("with the attribute %v", a)
		}
		if a.Key == "removed" {
			l.s.note("removed %v", a.Value)
		}
		return true
	})
	if !l.named {
		l.s.note("without the queue")
	}
	return nil
}

// logged has the names of the attributes that this package logs.
var logged = map[string]bool{"id": true, "error": true, "kind": true, "panic": true, "jobs": true, "removed": true, "before": true, "lease": true, "ahead": true, "subject": true}

// deliver returns a delivery of the job "x" that the queue has, with sequence 7.
func deliver(q *Queue, s *server, st stage, change func(*delivery)) *delivery {
	now := time.Now()
	d := &delivery{id: "x", stage: st, msg: &fakeMsg{s: s, subject: q.config.subject("x", st), data: []byte("data")}, seq: 7, last: 7, deliveries: 1,
		put: now, feed: newFeed(q.attempts, 1), received: now, until: now.Add(q.config.Lease)}
	if change != nil {
		change(d)
	}
	s.delivers(d.seq, d.msg.Subject(), func() time.Time { return d.put })
	q.leases.add(d)
	return d
}

// message returns a stored message of the job "x".
func message(q *Queue, st stage, seq uint64, h nats.Header) *jetstream.RawStreamMsg {
	return &jetstream.RawStreamMsg{Subject: q.config.subject("x", st), Sequence: seq, Header: h}
}

// connected returns a connection to a server that only answers pings, and forbids the subject "forbidden". The server
// records what it gets.
func connected(t *testing.T, s *server) *nats.Conn {
	t.Helper()
	nc, err := nats.Connect("", nats.InProcessServer(pings{s}), nats.NoReconnect())
	must(t, err)
	t.Cleanup(nc.Close)
	return nc
}

type pings struct{ s *server }

func (p pings) InProcessConn() (net.Conn, error) {
	client, server := net.Pipe()
	go p.serve(server)
	return client, nil
}

func (p pings) serve(c net.Conn) {
	defer c.Close()
	// It never waits until the client reads, because the client may write while it holds its mutex.
	out := make(chan string, 64)
	defer close(out)
	go func() {
		for text := range out {
			io.WriteString(c, text)
		}
	}()
	out <- fmt.Sprintf("INFO {\"server_id\":\"s\",\"version\":%q,\"cluster\":%q,\"headers\":true,\"max_payload\":1048576}\r\n", cmp.Or(p.s.version, "2.15.2"), p.s.cluster)
	in := bufio.NewReader(c)
	inbox := "" // the number of the subscription for responses
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		words := strings.Fields(line)
		switch {
		case len(words) == 0:
		case words[0] == "PING":
			if p.s.hangsUp.Load() {
				return
			}
			p.s.pinged.Add(1)
			if !p.s.silent.Load() {
				out <- "PONG\r\n"
			}
		case words[0] == "SUB":
			inbox = words[len(words)-1]
		case words[0] == "PUB" || words[0] == "HPUB":
			p.s.note("%s %s", words[0], words[1][strings.LastIndexByte(words[1], '.')+1:])
			n, _ := strconv.Atoi(words[len(words)-1])
			data := make([]byte, n+2)
			if _, err := io.ReadFull(in, data); err != nil {
				return
			}
			if strings.HasPrefix(words[1], "forbidden") {
				out <- fmt.Sprintf("-ERR 'Permissions Violation for Publish to %q'\r\n", words[1])
			}
			if words[0] == "PUB" && len(words) == 4 && p.s.respond != nil {
				if text := p.s.respond(words[1]); strings.HasPrefix(text, "-ERR") {
					out <- text
				} else if text != "" {
					out <- fmt.Sprintf("MSG %s %s %d\r\n%s\r\n", words[2], inbox, len(text), text)
				}
			}
			if words[0] == "HPUB" {
				size, _ := strconv.Atoi(words[len(words)-2])
				h, _ := nats.DecodeHeadersMsg(data[:size])
				p.s.got.Store(&nats.Msg{Subject: words[1], Header: h, Data: data[size:n]})
			}
		}
	}
}

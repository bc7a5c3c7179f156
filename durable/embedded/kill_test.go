package embedded_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/retrywhen/retrywhen/backoff"
	"github.com/retrywhen/retrywhen/durable"
	"github.com/retrywhen/retrywhen/durable/embedded"
	"github.com/retrywhen/retrywhen/jitter"
	"github.com/retrywhen/retrywhen/retry"
)

// life is the connection of a process that is killed at one point of the protocol: before or after it has sent its n-th
// publication, acknowledgement or deletion.
type life struct {
	point int // 0: it is not killed
	after bool

	mu   sync.Mutex
	dead bool
	did  []string
}

func (l *life) Dial(network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return nil, errors.New("killed")
	}
	c, err := net.Dial(network, address)
	return &lifeConn{c, l}, err
}

func (l *life) isDead() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.dead
}

// sends returns how much of what the process sends the server gets.
func (l *life) sends(b []byte) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.dead {
		return 0
	}
	for at := 0; at < len(b); {
		line, _, _ := bytes.Cut(b[at:], []byte("\r\n"))
		words := strings.Fields(string(line))
		end := at + len(line) + 2
		if len(words) > 1 && strings.HasSuffix(words[0], "PUB") {
			size, _ := strconv.Atoi(words[len(words)-1])
			payload := b[min(end, len(b)):min(end+size, len(b))]
			end += size + 2
			if what := stepOf(words[1], payload); what != "" {
				l.did = append(l.did, what)
				if len(l.did) == l.point {
					l.dead = true
					if l.after {
						return min(end, len(b))
					}
					return at
				}
			}
		}
		at = end
	}
	return len(b)
}

// stepOf names a step of the protocol, "" if it is none.
func stepOf(subject string, payload []byte) string {
	switch {
	case strings.HasPrefix(subject, "retrywhen."):
		return "put " + subject[strings.LastIndexByte(subject, '.')+1:]
	case strings.HasPrefix(subject, "$JS.API.STREAM.MSG.DELETE."):
		return "delete"
	case strings.HasPrefix(subject, "$JS.ACK.") && !bytes.HasPrefix(payload, []byte("+WPI")):
		return "ack"
	}
	return ""
}

type lifeConn struct {
	net.Conn
	l *life
}

func (c *lifeConn) Write(b []byte) (int, error) {
	n := c.l.sends(b)
	if n > 0 {
		if n, err := c.Conn.Write(b[:n]); err != nil {
			return n, err
		}
	}
	if c.l.isDead() {
		c.Conn.(*net.TCPConn).CloseWrite() // the server gets all that was sent, and then the end
		return n, errors.New("killed")
	}
	return n, nil
}

func (c *lifeConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.l.isDead() {
		return 0, errors.New("killed")
	}
	return n, err
}

// A process is killed at every point of the protocol, one after another. Another process continues. The job is done or
// dead, never both, no failure is forgotten, no retry is early, and its id stays known.
func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	srv := start(t, embedded.Listen(0))
	for name, story := range map[string]func(*testing.T, *embedded.Server, string, *life){"WithAnID": lifeWithID, "WithoutAnID": lifeWithoutID, "Forgotten": lifeForgotten,
		"Cancelled": lifeCancelled} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var whole life
			story(t, srv, name, &whole)
			t.Logf("%d points: %v", len(whole.did), whole.did)
			if len(whole.did) < 3 || whole.dead {
				t.Fatalf("only %d steps", len(whole.did))
			}
			for point := 1; point <= len(whole.did); point++ {
				for _, after := range []bool{false, true} {
					if n := 2*point + map[bool]int{true: 1}[after]; !nightly() && n%5 != 0 {
						continue // a sample
					}
					t.Run(fmt.Sprintf("%d%s", point, map[bool]string{false: "before", true: "after"}[after]), func(t *testing.T) {
						t.Parallel()
						l := life{point: point, after: after}
						story(t, srv, fmt.Sprintf("%s-%d-%t", name, point, after), &l)
						// A life may have fewer steps than the whole one: a delivery that comes late is claimed.
						if !l.isDead() && point <= 3 {
							t.Errorf("not killed, after %v", l.did)
						}
						if t.Failed() {
							t.Logf("killed after %v", l.did)
						}
					})
				}
			}
		})
	}
}

// pair is a process that is killed, and another that works when it is dead.
type pair struct {
	t         *testing.T
	l         *life
	one, two  *durable.Queue
	handler   func(context.Context, *durable.Job) error
	continues func()
}

func newPair(t *testing.T, srv *embedded.Server, name string, l *life, handler func(context.Context, *durable.Job) error) *pair {
	// On a busy machine leases run out: then attempts are repeated, and begin without an end.
	c := durable.Config{Name: name, Lease: time.Second, Remember: time.Hour, MaxCrashes: 1000,
		Policy: retry.New(backoff.Table(60*time.Millisecond, 1050*time.Millisecond).Jitter(jitter.None))}
	p := &pair{t: t, l: l, two: open(t, srv, c), handler: handler}
	nc := connect(t, srv.URL(), nats.SetCustomDialer(l), nats.ReconnectWait(time.Hour))
	p.one = open(t, nc, c)
	p.continues = sync.OnceFunc(func() { nc.Close(); work(t, p.two, 1, handler) })
	return p
}

func (p *pair) work() {
	ctx, cancel := context.WithCancel(p.t.Context())
	done := make(chan struct{})
	go func() { defer close(done); p.one.Work(ctx, 1, p.handler) }()
	p.t.Cleanup(func() { cancel(); <-done })
}

// until waits. If the first process dies meanwhile, the second one works from then on.
func (p *pair) until(what string, ok func() bool) {
	p.t.Helper()
	eventually(p.t, what, func() bool {
		if p.l.isDead() {
			p.continues()
		}
		return ok()
	})
}

// does makes the first process do something. If it dies meanwhile, the second one does it.
func (p *pair) does(what string, f func(context.Context, *durable.Queue) error, fine error) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), 2*time.Minute) // on a busy machine
	defer cancel()
	result := make(chan error, 1)
	go func() { result <- f(ctx, p.one) }()
	for {
		select {
		case err := <-result:
			if !p.l.isDead() {
				if err != nil {
					p.t.Errorf("%s: %v", what, err)
				}
				return
			}
		case <-time.After(5 * time.Millisecond):
			if !p.l.isDead() {
				continue
			}
			cancel()
		}
		second, end := context.WithTimeout(p.t.Context(), 2*time.Minute)
		defer end()
		if err := f(second, p.two); err != nil && !errors.Is(err, fine) {
			p.t.Errorf("%s, again: %v", what, err)
		}
		return
	}
}

func (p *pair) letters() int {
	return len(letters(p.t, p.two))
}

func (p *pair) empty() bool { return isEmpty(p.t, p.two)() }

// known checks that the id of the job is known.
func (p *pair) known() {
	p.t.Helper()
	var err error
	eventually(p.t, "Put knows", func() bool {
		_, err = p.two.Put(p.t.Context(), nil, durable.PutID("job"))
		return !errors.Is(err, durable.ErrNotStored)
	})
	if !errors.Is(err, durable.ErrExists) {
		p.t.Errorf("put again: %v, want ErrExists", err)
	}
}

// A job is put, fails with a short wait, with a long one, and dies. It is revived, fails once and is done.
func lifeWithID(t *testing.T, srv *embedded.Server, name string, l *life) {
	var revived, done atomic.Bool
	var mu sync.Mutex
	attempts, due := make(map[int]int), make(map[int]time.Time)
	p := newPair(t, srv, name, l, func(_ context.Context, job *durable.Job) error {
		mu.Lock()
		defer mu.Unlock()
		life := 0
		if revived.Load() {
			life = 10
		}
		attempts[life+job.Attempt]++
		if early := time.Until(due[life+job.Attempt]); early > 0 {
			t.Errorf("attempt %d is %v early", job.Attempt, early)
		}
		wait := map[int]time.Duration{1: 60 * time.Millisecond, 2: 1050 * time.Millisecond}[job.Attempt]
		due[life+job.Attempt+1] = time.Now().Add(wait)
		switch life + job.Attempt {
		case 1, 2, 11:
			return errors.New("no")
		case 3:
			return retry.Permanent(errors.New("never"))
		case 12:
			done.Store(true)
			return nil
		}
		t.Errorf("attempt %d, revived %t", job.Attempt, revived.Load())
		return nil
	})
	p.does("put", func(ctx context.Context, q *durable.Queue) error {
		_, err := q.Put(ctx, []byte("data"), durable.PutID("job"))
		return err
	}, durable.ErrExists)
	p.work()
	p.until("it is dead", func() bool { return p.letters() == 1 && p.empty() })
	p.known()
	revived.Store(true)
	p.does("revive", func(ctx context.Context, q *durable.Queue) error { return q.Revive(ctx, "job") }, durable.ErrNotFound)
	p.until("it is done", func() bool { return done.Load() && p.empty() })
	p.known()
	if n := p.letters(); n != 0 {
		t.Errorf("%d dead letters", n)
	}
	eventually(t, "the old letter is gone", func() bool { s, err := stats(t, p.two); return err == nil && s.Dead == 0 })
	mu.Lock()
	defer mu.Unlock()
	for _, n := range []int{1, 2, 3, 11, 12} {
		if attempts[n] < 1 || attempts[n] > 2 && quiet() {
			t.Errorf("attempts %v, want each once, or one of them twice", attempts)
		}
	}
	if quiet() && p.two.Counts().HandedBack > 0 {
		t.Errorf("the second process has handed back: %v", p.two.Counts())
	}
}

// Two jobs without an id were delivered before, to a process that has handed them back. So they are claimed. One of
// them fails once.
func lifeWithoutID(t *testing.T, srv *embedded.Server, name string, l *life) {
	var done atomic.Int64
	p := newPair(t, srv, name, l, func(_ context.Context, job *durable.Job) error {
		if string(job.Data) == "fails" && job.Attempt == 1 {
			return errors.New("no")
		}
		done.Add(1)
		return nil
	})
	put(t, p.two, "")
	put(t, p.two, "fails")
	zero := open(t, srv, durable.Config{Name: name, Lease: time.Second})
	for _, err := range zero.Jobs().Take(2).All(t.Context()) {
		must(t, err)
	}
	zero.Close() // hands back what was not reported
	p.work()
	p.until("both are done", func() bool { return done.Load() >= 2 && p.empty() })
	// Each process may be done with each: the first one goes on when its connection is dead.
	if n := p.letters(); n != 0 || quiet() && done.Load() > 4 {
		t.Errorf("%d dead letters, done %d times", n, done.Load())
	}
}

// A job dies, and its dead letter is forgotten.
func lifeForgotten(t *testing.T, srv *embedded.Server, name string, l *life) {
	var attempts atomic.Int64
	p := newPair(t, srv, name, l, func(context.Context, *durable.Job) error {
		attempts.Add(1)
		return retry.Permanent(errors.New("never"))
	})
	put(t, p.two, "", durable.PutID("job"))
	p.work()
	p.until("it is dead", func() bool { return p.letters() == 1 })
	p.does("forget", func(ctx context.Context, q *durable.Queue) error { return q.Forget(ctx, "job") }, durable.ErrNotFound)
	p.until("it is gone", func() bool { s, err := stats(t, p.two); return err == nil && s.Dead == 0 && p.empty() })
	p.known()
	if n := attempts.Load(); n < 1 || n > 2 && quiet() {
		t.Errorf("%d attempts, want 1 or 2", n)
	}
}

// A job waits, and is cancelled.
func lifeCancelled(t *testing.T, srv *embedded.Server, name string, l *life) {
	var attempts atomic.Int64
	p := newPair(t, srv, name, l, func(context.Context, *durable.Job) error { attempts.Add(1); return nil })
	p.does("put", func(ctx context.Context, q *durable.Queue) error {
		_, err := q.PutAt(ctx, time.Now().Add(time.Hour), nil, durable.PutID("job"))
		return err
	}, durable.ErrExists)
	p.does("cancel", func(ctx context.Context, q *durable.Queue) error { return q.Cancel(ctx, "job") }, durable.ErrNotFound)
	p.until("it is gone", p.empty)
	p.known()
	if n := attempts.Load(); n > 0 {
		t.Errorf("%d attempts", n)
	}
}

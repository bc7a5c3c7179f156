package embedded_test

import (
	"net"
	"sync"
	"testing"
	"time"
)

// wire is the network between clients and a server: a proxy whose connections can be cut and stalled.
type wire struct {
	target   string
	listener net.Listener
	links    sync.WaitGroup

	mu   sync.Mutex
	open map[*link]bool
}

// link is one connection through a wire. What it carries waits while gate is locked.
type link struct {
	client, server *net.TCPConn
	gate           sync.RWMutex
}

// newWire returns a wire to the address of a server, which may be down.
func newWire(t *testing.T, target string) *wire {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	w := &wire{target: target, listener: listener, open: make(map[*link]bool)}
	w.links.Go(w.accept)
	t.Cleanup(func() {
		listener.Close()
		w.cut()
		w.links.Wait()
	})
	return w
}

func (w *wire) url() string { return "nats://" + w.listener.Addr().String() }

func (w *wire) accept() {
	for {
		client, err := w.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", w.target)
		if err != nil {
			client.Close()
			continue
		}
		l := &link{client: client.(*net.TCPConn), server: server.(*net.TCPConn)}
		w.mu.Lock()
		w.open[l] = true
		w.mu.Unlock()
		w.links.Go(func() {
			var both sync.WaitGroup
			both.Go(func() { l.carry(l.server, l.client) })
			both.Go(func() { l.carry(l.client, l.server) })
			both.Wait()
			w.mu.Lock()
			delete(w.open, l)
			w.mu.Unlock()
			l.close()
		})
	}
}

// carry copies what src sends to dst, until src ends or dst is gone.
func (l *link) carry(dst, src *net.TCPConn) {
	defer dst.CloseWrite()
	buffer := make([]byte, 32<<10)
	for {
		n, err := src.Read(buffer)
		l.gate.RLock()
		_, failed := dst.Write(buffer[:n])
		l.gate.RUnlock()
		if err != nil || failed != nil {
			return
		}
	}
}

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

func (w *wire) all() (all []*link) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for l := range w.open {
		all = append(all, l)
	}
	return all
}

// cut closes all connections at both ends.
func (w *wire) cut() {
	for _, l := range w.all() {
		l.close()
	}
}

// stall makes all connections carry nothing for d. New connections are not stalled.
func (w *wire) stall(d time.Duration) {
	for _, l := range w.all() {
		l.gate.Lock()
		time.AfterFunc(d, l.gate.Unlock)
	}
}

// strand is stall, but the clients see their connections close at once. They connect again, and later the server gets
// what they had sent on the old connections.
func (w *wire) strand(d time.Duration) {
	for _, l := range w.all() {
		l.client.CloseWrite()
		l.gate.Lock()
		time.AfterFunc(d, l.gate.Unlock)
	}
}

// What a stranded connection carried reaches the server late, after a new connection.
func TestWire(t *testing.T) {
	t.Parallel()
	server, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer server.Close()
	w := newWire(t, server.Addr().String())
	dial := func() (client, accepted net.Conn) {
		client, err := net.Dial("tcp", w.listener.Addr().String())
		must(t, err)
		accepted, err = server.Accept()
		must(t, err)
		return client, accepted
	}
	read := func(c net.Conn, want string) {
		t.Helper()
		buffer := make([]byte, 10)
		if n, _ := c.Read(buffer); string(buffer[:n]) != want {
			t.Errorf("read %q, want %q", buffer[:n], want)
		}
	}
	old, oldServer := dial()
	old.Write([]byte("a"))
	read(oldServer, "a")
	w.strand(300 * time.Millisecond)
	began := time.Now()
	old.Write([]byte("late"))
	read(old, "")
	old.Close()
	next, nextServer := dial()
	next.Write([]byte("b"))
	read(nextServer, "b")
	read(oldServer, "late")
	if took := time.Since(began); took < 250*time.Millisecond {
		t.Errorf("a stranded connection delivered after %v, want 300ms", took)
	}
	w.cut()
	read(next, "")
	read(nextServer, "")
}

package reconnecttest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func testNetwork(sc scenario) *network {
	return &network{scenario: sc, news: make(chan struct{}, 1), seen: func() {}}
}

func wired(t *testing.T, f func(w *wire, n *network)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		n := testNetwork(scenario{at: -1})
		w := newWire(n)
		if err := n.dial(t.Context(), w.link); err != nil {
			t.Fatal(err)
		}
		f(w, n)
	})
}

func expectRead(t *testing.T, c net.Conn, want string, wantErr error) {
	t.Helper()
	buf := make([]byte, 100)
	got, err := c.Read(buf)
	if string(buf[:got]) != want || !errors.Is(err, wantErr) {
		t.Errorf("read %q, %v, want %q, %v", buf[:got], err, want, wantErr)
	}
}

// What has come before a reset or a close can be read, then the error.
func TestWire_Ends(t *testing.T) {
	for how, want := range map[fate]error{cut: syscall.ECONNRESET, ends: io.EOF} {
		wired(t, func(w *wire, _ *network) {
			_, _ = w.server.Write([]byte("ab"))
			w.sever(how)
			expectRead(t, w.client, "ab", nil)
			expectRead(t, w.client, "", want)
			first, second := error(syscall.EPIPE), error(syscall.EPIPE)
			if how == ends {
				first = nil // the first write to a peer that has closed succeeds, and is refused
			}
			for _, want := range []error{first, second} {
				if _, err := w.client.Write([]byte("c")); !errors.Is(err, want) {
					t.Errorf("%v: a write returned %v, want %v", how, err, want)
				}
				time.Sleep(2*latency - 1)
				if how == ends && want == nil {
					if _, err := w.client.Write([]byte("c")); err != nil {
						t.Errorf("%v before the refusal", err)
					}
				}
				time.Sleep(time.Nanosecond)
				synctest.Wait()
			}
			expectRead(t, w.client, "", want)
			if _, err := w.server.Write([]byte("c")); err == nil {
				t.Error("the server's write returned no error")
			}
		})
	}
}

func TestWire_Close(t *testing.T) {
	wired(t, func(w *wire, n *network) {
		_, _ = w.client.Write([]byte("x"))
		_ = w.client.Close()
		expectRead(t, w.client, "", net.ErrClosed)
		expectRead(t, w.server, "x", nil)
		expectRead(t, w.server, "", io.EOF)
		if n.soFar().connected {
			t.Error("the client has a connection")
		}
	})
}

// A collection that runs already when the pools are emptied does not count.
func TestEmptyPools(t *testing.T) {
	var pool sync.Pool
	var collecting sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	collecting.Go(func() {
		for ctx.Err() == nil {
			runtime.GC()
		}
	})
	for range 100 {
		pool.Put(t)
		if emptyPools(); pool.Get() != nil {
			t.Error("something is left in the pool")
		}
	}
	stop()
	collecting.Wait()
}

// While the server is down, no connection works: the idle ones of a client's pool neither.
func TestNetwork_Down(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := testNetwork(scenario{fate: cut, lasts: time.Hour, lets: -1})
		idle, busy := newWire(n), newWire(n)
		for _, w := range []*wire{idle, busy} {
			if err := n.dial(t.Context(), w.link); err != nil {
				t.Fatal(err)
			}
		}
		_, _ = busy.server.Write([]byte("a"))
		for _, w := range []*wire{idle, busy} {
			expectRead(t, w.client, "", syscall.ECONNRESET)
		}
		if n.soFar().connected {
			t.Error("the client has a connection")
		}
	})
}

// Nothing of a silent connection's end reaches the other end.
func TestWire_Silence(t *testing.T) {
	wired(t, func(w *wire, _ *network) {
		w.sever(silence)
		_, err := w.server.Write([]byte("lost"))
		_ = w.client.SetReadDeadline(time.Now().Add(time.Second))
		start := time.Now()
		expectRead(t, w.client, "", os.ErrDeadlineExceeded)
		if took := time.Since(start); took != time.Second || err != nil {
			t.Errorf("after %v, %v", took, err)
		}
		_ = w.client.Close()
		_ = w.server.SetDeadline(time.Now().Add(time.Second))
		expectRead(t, w.server, "", os.ErrDeadlineExceeded)
	})
}

// A write is taken at once, however much it is, and a deadline that is set meanwhile ends a read.
func TestWire_Waits(t *testing.T) {
	wired(t, func(w *wire, _ *network) {
		sent := bytes.Repeat([]byte("0123456789"), 20_000)
		start := time.Now()
		n, err := w.server.Write(sent)
		_ = w.server.Close()
		if n != len(sent) || err != nil || !time.Now().Equal(start) {
			t.Errorf("%d bytes, %v, in %v", n, err, time.Since(start))
		}
		got, err := io.ReadAll(w.client)
		if !bytes.Equal(got, sent) || err != nil || time.Since(start) != latency {
			t.Errorf("%d bytes, %v, in %v", len(got), err, time.Since(start))
		}
	})
	wired(t, func(w *wire, _ *network) {
		done := make(chan error)
		go func() { _, err := w.client.Read(make([]byte, 1)); done <- err }()
		synctest.Wait()
		_ = w.client.SetDeadline(time.Now().Add(-time.Second))
		if err := <-done; !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("got %v", err)
		}
		if n, err := w.client.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a write after its deadline: %d, %v", n, err)
		}
	})
}

package reconnecttest

import (
	"context"
	"fmt"
	"net"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
	"github.com/retrywhen/retrywhen/internal/virtual"
)

// Dial connects a client to the server, whatever the address. It is what net.Dialer.DialContext is.
type Dial = func(ctx context.Context, network, addr string) (net.Conn, error)

// Run is one run of a client against its server, which is all that there is on its network. What the server keeps when
// it is stopped and started again is in variables of the function that returns the Run.
type Run[V any] struct {
	// Serve is a server on l, which ends with ctx. It is called again when a scenario starts the server anew.
	Serve func(ctx context.Context, l net.Listener)
	// Client connects by dial, calls got for each value, from any of its goroutines, and returns when ctx ends.
	Client func(ctx context.Context, dial Dial, got func(V)) error
}

// Check is [CheckResume] for any client that dials, of whatever library and protocol. newRun is called once for each
// run, in its bubble. The server's values must come to an end: the reference is what the client delivers, undisturbed,
// until nothing has come for 20 s. Client and server run on a network in memory: their waits and timeouts are real, and
// take no time.
//
// Instead of events, the server's writes are counted. Check cuts a connection (ECONNRESET) and closes it (EOF)
// before each write and in the middle of it, makes it silent, lets it fall with two refusals after it, and cuts it while
// got is busy. It ends the context in got, in silence, and in a wait. It lets each connection deliver one value; cuts
// after an hour of quiet; refuses all connections, or accepts and closes them, for an hour; stops the server and
// starts another; and compares the waits of two clients. The bounds are those of CheckResume.
//
// Let the client connect to an address such as 127.0.0.1:80, or use dial in an http.Transport: in a bubble, looking up a
// host name ends the process. A client that has ended must have left no goroutine: close its idle connections too.
// Goroutines of the server do not count. A silent connection stays silent: there is no kernel that finds out after
// minutes or hours. Clients run one at a time, in parallel tests too, so that they share no timer of a pool.
func Check[V any](t testing.TB, newRun func() Run[V], opts ...Option) {
	t.Helper()
	if newRun == nil {
		panic("reconnecttest: Check: newRun is nil")
	}
	s := newSubject("Check")
	s.amid = true
	s.begin = func(b *virtual.Bubble, n *network) (runFunc, func()) {
		run := newRun()
		switch {
		case run.Serve == nil:
			panic("reconnecttest: Check: the Serve of newRun's Run is nil")
		case run.Client == nil:
			panic("reconnecttest: Check: the Client of newRun's Run is nil")
		}
		h := &host{net: n, serve: run.Serve, ctx: b.Context}
		n.onBreak = h.fall
		h.start()
		label := strconv.FormatInt(clients.Add(1), 10)
		n.client = label
		return func(ctx context.Context, got func(any) bool) (err error) {
			pprof.Do(ctx, pprof.Labels(clientLabel, label), func(ctx context.Context) {
				err = run.Client(ctx, h.dial, func(v V) { got(v) })
			})
			return err
		}, h.close
	}
	s.read = func(_ *network, quiet time.Duration) bool { return quiet >= 20*time.Second }
	s.left = func(b *virtual.Bubble, n *network) []virtual.Goroutine {
		left := goroutine.Labelled(clientLabel, n.client)
		if len(left) == 0 {
			return nil
		}
		return slices.DeleteFunc(b.Running(), func(g virtual.Goroutine) bool { // those of the server
			i := slices.IndexFunc(left, func(other goroutine.Goroutine) bool { return startOf(other) == startOf(goroutine.Goroutine(g)) })
			if i >= 0 {
				left = slices.Delete(left, i, i+1)
			}
			return i < 0
		})
	}
	s.unit = func(i int) string {
		if i == s.units {
			return "after the last value"
		}
		return fmt.Sprintf("before write %d of %d", i+1, s.units)
	}
	groups := append(s.breaks(), s.stops()[1:]...)
	s.run(t, append(groups, s.outages()...), opts)
}

// startOf returns the function that a goroutine was started with.
func startOf(g goroutine.Goroutine) string {
	if len(g.Calls) == 0 {
		return ""
	}
	return g.Calls[len(g.Calls)-1].Function
}

// clientLabel is the label of the goroutines that a client starts, and clients numbers the clients.
const clientLabel = "retrywhen/reconnecttest"

var clients atomic.Int64

// host is where the server runs.
type host struct {
	net   *network
	ctx   context.Context
	serve func(context.Context, net.Listener)

	mu       sync.Mutex
	listener *port // nil while there is no server
	cancel   context.CancelFunc
}

func (h *host) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	l := newPort()
	ctx, cancel := context.WithCancel(h.ctx)
	h.listener, h.cancel = l, cancel
	go h.serve(ctx, l)
}

func (h *host) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.listener != nil {
		_ = h.listener.Close()
		h.cancel()
		h.listener = nil
	}
}

// close stops the server, and lets time pass until it has ended: time stands still when a bubble's first goroutine ends.
func (h *host) close() {
	h.stop()
	h.net.stop()
	time.Sleep(time.Minute)
}

// fall stops the server and starts another one a second later, in a scenario with a restart.
func (h *host) fall() {
	if h.net.restart {
		go func() {
			h.stop()
			h.net.breakAll(cut)
			time.Sleep(time.Second)
			h.start()
		}()
	}
}

func (h *host) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w := newWire(h.net)
	if err := h.net.dial(w.link); err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case ctx.Err() != nil:
		_ = w.client.Close()
		return nil, context.Cause(ctx)
	case w.over(): // it was accepted and closed
	case h.listener == nil || !h.listener.offer(w.server):
		h.net.refuses(w.link)
		return nil, errRefused
	}
	return w.client, nil
}

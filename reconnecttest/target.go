package reconnecttest

import (
	"context"
	"net"
	"runtime/pprof"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/goroutine"
	"github.com/retrywhen/retrywhen/internal/marble"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// target is a client and what it connects to: the Feed of CheckResume, or the server of Check.
type target interface {
	// begin starts a run. It returns the client, and the function that ends the rest.
	begin(b *virtual.Bubble, n *network) (client clientFunc, stop func())
	// complete reports whether the undisturbed client, which has been quiet for so long, has delivered all that there is.
	complete(n *network, quiet time.Duration) bool
	// own returns those goroutines that are the client's.
	own(all []virtual.Goroutine, n *network) []virtual.Goroutine
	// show returns what a report says of the unit i in addition to its number.
	show(i int) string
}

// resuming is the target of CheckResume.
type resuming[T, P, V any] struct {
	feed   Feed[T, P]
	client func(connect func(at P) stream.Stream[T]) stream.Stream[V]
}

func (r resuming[T, P, V]) begin(_ *virtual.Bubble, n *network) (clientFunc, func()) {
	st := r.client(func(at P) stream.Stream[T] { return r.feed.connect(n, at) })
	if st == nil {
		panic("reconnecttest: CheckResume: client returned a nil stream")
	}
	return func(ctx context.Context, got func(any) bool) error {
		return st(ctx, func(v V) bool { return got(v) })
	}, func() {}
}

func (r resuming[T, P, V]) complete(n *network, _ time.Duration) bool {
	return n.soFar().units == len(r.feed.Events)
}

func (r resuming[T, P, V]) own(all []virtual.Goroutine, _ *network) []virtual.Goroutine { return all }

func (r resuming[T, P, V]) show(i int) string {
	return " (" + marble.Show(r.feed.Events[i]) + ")"
}

// dialling is the target of Check.
type dialling[V any] struct{ newRun func() Run[V] }

// clientLabel is the label of the goroutines that a client starts, and clients numbers the clients.
const clientLabel = "retrywhen/reconnecttest"

var clients atomic.Int64

func (d dialling[V]) begin(b *virtual.Bubble, n *network) (clientFunc, func()) {
	run := d.newRun()
	switch {
	case run.Serve == nil:
		panic("reconnecttest: Check: newRun returned a Run whose Serve is nil")
	case run.Client == nil:
		panic("reconnecttest: Check: newRun returned a Run whose Client is nil")
	}
	h := &host{net: n, serve: run.Serve, ctx: b.Context}
	n.onBreak = h.fall
	h.start()
	n.client = strconv.FormatInt(clients.Add(1), 10)
	return func(ctx context.Context, got func(any) bool) (err error) {
		pprof.Do(ctx, pprof.Labels(clientLabel, n.client), func(ctx context.Context) {
			err = run.Client(ctx, h.dial, func(v V) { got(v) })
		})
		return err
	}, h.close
}

func (d dialling[V]) complete(_ *network, quiet time.Duration) bool { return quiet >= 20*time.Second }

func (d dialling[V]) own(all []virtual.Goroutine, n *network) []virtual.Goroutine {
	if len(all) == 0 {
		return nil
	}
	labelled := goroutine.Labelled(clientLabel, n.client) // without their numbers
	return slices.DeleteFunc(all, func(g virtual.Goroutine) bool {
		i := slices.Index(labelled, g.Start())
		if i >= 0 {
			labelled = slices.Delete(labelled, i, i+1)
		}
		return i < 0
	})
}

func (d dialling[V]) show(int) string { return "" }

// host is where a server runs.
type host struct {
	net   *network
	ctx   context.Context
	serve func(context.Context, net.Listener)

	mu       sync.Mutex
	listener *port
	cancel   context.CancelFunc
}

func (h *host) start() {
	h.mu.Lock()
	defer h.mu.Unlock()
	ctx, cancel := context.WithCancel(h.ctx)
	h.listener, h.cancel = newPort(ctx), cancel
	go h.serve(ctx, h.listener)
}

func (h *host) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.cancel()
}

// close stops the server, and lets time pass until it and what the client has left have ended: time stands still when a
// bubble's first goroutine ends, and goroutines that remain make each look at all goroutines slower.
func (h *host) close() {
	h.stop()
	h.net.stop()
	time.Sleep(time.Hour)
}

// fall stops the server and starts another one a second later, in a scenario with a restart.
func (h *host) fall() {
	if h.net.restart {
		go func() {
			h.stop()
			time.Sleep(time.Second)
			h.start()
		}()
	}
}

func (h *host) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w := newWire(h.net)
	w.link.offer = func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.listener.offer(w.server)
	}
	if err := h.net.dial(ctx, w.link); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		_ = w.client.Close()
		return nil, context.Cause(ctx)
	}
	return w.client, nil
}

// deaf reports whether one of the client's goroutines reads a silent connection without a deadline, and no other one
// sleeps or selects: so it notices nothing, although a mutex keeps the bubble from moving on.
func (n *network) deaf(own []virtual.Goroutine) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	reads := slices.ContainsFunc(n.wires, func(w *wire) bool { return w.deaf() })
	return reads && !slices.ContainsFunc(own, func(g virtual.Goroutine) bool {
		return (g.State == "sleep" || g.State == "select") && !g.Reads()
	})
}

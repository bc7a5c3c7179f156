package reconnecttest

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/virtual"
)

// host is where a server runs.
type host struct {
	network *network
	ctx     context.Context
	serve   func(context.Context, net.Listener)

	listener atomic.Pointer[port]
}

// start starts a server.
func (h *host) start() {
	ctx, stop := context.WithCancel(h.ctx)
	go h.serve(ctx, h.listen(ctx, stop))
}

// listen opens a port, in place of the one before.
func (h *host) listen(ctx context.Context, stop context.CancelFunc) *port {
	l := &port{stop: stop, accept: make(chan net.Conn, 1024)}
	l.ctx, l.close = context.WithCancel(ctx)
	h.listener.Store(l)
	return l
}

// close stops the server, and lets time pass until it and what the client has left have ended: time stands still when a
// bubble's first goroutine ends, and goroutines that remain make each look at all goroutines slower.
func (h *host) close() {
	h.listener.Load().stop()
	time.Sleep(time.Hour)
}

// restart stops the server and starts another one a second later.
func (h *host) restart() {
	h.listener.Load().stop()
	time.Sleep(time.Second)
	h.start()
}

func (h *host) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	w := newWire(h.network)
	w.link.offer = func() bool { l := h.listener.Load(); return l != nil && l.offer(w.server) }
	if err := h.network.dial(ctx, w.link); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		_ = w.client.Close()
		return nil, context.Cause(ctx)
	}
	return w.client, nil
}

// own returns those goroutines that are the client's.
func (n *network) own(all []virtual.Goroutine) []virtual.Goroutine {
	if n.label == "" || len(all) == 0 {
		return all
	}
	labelled := virtual.Labelled(clientLabel, n.label) // without their numbers
	return slices.DeleteFunc(slices.Clone(all), func(g virtual.Goroutine) bool {
		i := slices.Index(labelled, g.Start())
		if i >= 0 {
			labelled = slices.Delete(labelled, i, i+1)
		}
		return i < 0
	})
}

// deaf reports whether one of the client's goroutines reads a silent connection without a deadline, and no other one
// sleeps or selects: so it notices nothing, although a mutex keeps the bubble from moving on.
func (n *network) deaf(own []virtual.Goroutine) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.wires, (*wire).deaf) && !slices.ContainsFunc(own, func(g virtual.Goroutine) bool {
		return (g.State == "sleep" || g.State == "select") && !g.Reads()
	})
}

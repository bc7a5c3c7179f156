package reconnecttest

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/retrywhen/retrywhen/prove"
)

// Network is the network in memory of [Check], for a test of your own in a bubble of testing/synctest: it has one
// server, and breaks connections when the test says so. The zero Network is ready. It belongs to the bubble in which it
// is first used, and is safe for concurrent use. As with Check, a write does not wait, and the first write to a peer
// that has closed succeeds. A goroutine that still reads at the end of the bubble fails the test.
type Network struct {
	once sync.Once
	of   *host
}

func (n *Network) host() *host {
	n.once.Do(func() { n.of = &host{network: &network{scenario: scenario{at: -1}}} })
	return n.of
}

// Listen returns the port of the server, in place of the one before, whatever the address of a dial. Accept returns
// net.ErrClosed when the port is closed.
func (n *Network) Listen() net.Listener {
	ctx, stop := context.WithCancel(context.Background())
	return n.host().listen(ctx, stop)
}

// Dial connects a client after a millisecond, or fails with ECONNREFUSED if no port is open, or with the cause of ctx.
// It is what net.Dialer.DialContext is.
func (n *Network) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	return n.host().dial(ctx, network, addr)
}

// Break breaks all connections that work: prove.Cut resets them, prove.End ends them as a server that closes them,
// after prove.Silence they stay open and nothing comes. prove.Refuse resets them and closes the port. It panics if how
// is another way.
func (n *Network) Break(how prove.Way) {
	fate, ok := map[prove.Way]fate{prove.Cut: cut, prove.End: ends, prove.Silence: silence, prove.Refuse: cut}[how]
	if !ok {
		panic(fmt.Sprintf("reconnecttest: Network.Break: how is %q, want cut, end, silence or refuse", how))
	}
	h := n.host()
	if l := h.listener.Load(); how == prove.Refuse && l != nil {
		l.close()
	}
	h.network.mu.Lock()
	defer h.network.mu.Unlock()
	h.network.endAll(fate)
}

// Delay sets how long what is written from now on is on its way, 0 for the 50 µs of the beginning.
func (n *Network) Delay(d time.Duration) { n.host().network.delay.Store(int64(d)) }

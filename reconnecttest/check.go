package reconnecttest

import (
	"context"
	"net"
	"testing"

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
// Instead of events, the server's writes are counted, and connections break within them too. There is no second run of
// a client. Check takes from 1 to 60 s of real time, mostly about 4. A panic on a goroutine of the client's own ends
// the process; with -v the name of its scenario is the last one before it.
//
// Let the client connect to an address such as 127.0.0.1:80, or use dial in an http.Transport: in a bubble, looking up
// a host name can end the process. A client that has ended must have left no goroutine: close its idle connections too.
// Goroutines of the server do not count. A silent connection stays silent: there is no kernel that finds out after
// minutes or hours. Clients run one at a time, in parallel tests too, so that they share no timer of a pool.
func Check[V any](t testing.TB, newRun func() Run[V], opts ...Option) Report {
	t.Helper()
	if newRun == nil {
		panic("reconnecttest: Check: newRun is nil")
	}
	c := newCheck("Check", "write", opts)
	c.dials = true
	c.begin = func(b *virtual.Bubble, n *network) (clientFunc, func()) { return beginRun(newRun(), b, n) }
	return c.playGroups(t)
}

// beginRun starts the server of a run. It returns the client, and the function that ends the server.
func beginRun[V any](run Run[V], b *virtual.Bubble, n *network) (clientFunc, func()) {
	switch {
	case run.Serve == nil:
		panic("reconnecttest: Check: newRun returned a Run whose Serve is nil")
	case run.Client == nil:
		panic("reconnecttest: Check: newRun returned a Run whose Client is nil")
	}
	h := &host{network: n, serve: run.Serve, ctx: b.Context}
	n.restarts = h.restart
	h.start()
	return func(ctx context.Context, got func(any) bool) error {
		return run.Client(ctx, h.dial, func(v V) { got(v) })
	}, h.close
}

package reconnecttest

import (
	"context"
	"testing"

	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// CheckResume fails the test unless a client of a feed comes back from every break of its connection that
// docs/testing.md lists. client returns the stream under test, which opens connections with connect. CheckResume runs
// it once undisturbed, then once for each scenario, and compares the values with those of the undisturbed run: they may
// depend on events, not on time.
//
// Events come 100 ms apart. A connection that is cut fails with ECONNRESET, one that is refused with ECONNREFUSED, one
// that the server closes ends without an error, and a silent one yields nothing until its context ends. If the consumer
// stops, a second run must begin at the start, whatever the run before has delivered, or return ErrNotRestartable. If
// feed.Lost is not nil and its position is lost, the client delivers the rest, or ends with an error that matches the
// one of the connection.
//
// CheckResume does not see what the server itself loses, or an effect behind the stream. If client stores its position
// outside of the stream, let each run begin with an empty store. What the client logs, as by retry.Log(nil), is logged
// for each scenario, at its virtual times; slog.SetDefault(slog.New(slog.DiscardHandler)) in TestMain prevents that.
func CheckResume[T, P, V any](t testing.TB, feed Feed[T, P], client func(connect func(at P) stream.Stream[T]) stream.Stream[V], opts ...Option) Report {
	t.Helper()
	feed.require()
	if client == nil {
		panic("reconnecttest: CheckResume: client is nil")
	}
	c := newCheck("CheckResume", "event", opts)
	for _, e := range feed.Events {
		c.events = append(c.events, e)
	}
	c.units, c.forgets = len(feed.Events), feed.Lost != nil
	c.begin = func(_ *virtual.Bubble, n *network) (clientFunc, func()) {
		st := client(func(at P) stream.Stream[T] { return feed.connect(n, at) })
		if st == nil {
			panic("reconnecttest: CheckResume: client returned a nil stream")
		}
		return func(ctx context.Context, got func(any) bool) error {
			return st(ctx, func(v V) bool { return got(v) })
		}, func() {}
	}
	return c.playGroups(t)
}

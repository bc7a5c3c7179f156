package reconnecttest

import (
	"slices"
	"testing"

	"github.com/retrywhen/retrywhen/stream"
)

// CheckResume fails the test unless a client of a feed comes back from every break of its connection, without losing or
// repeating an event. client returns the stream under test, which opens connections with connect. CheckResume runs it
// once undisturbed, then once for each way in which a connection can break, at each event, and compares the values with
// those of the undisturbed run: they may depend on events, not on time.
//
// To connect takes 1 ms, or fails with ECONNREFUSED. Events come 100 ms apart. A connection that is cut fails with
// ECONNRESET, one that the server closes ends without an error, and a silent one yields nothing until its context ends.
// A client is expected to
//
//   - be back within 10 minutes when the connection is cut, ended or silent, also if the next two connections are
//     refused, or if the consumer is busy with an event for two minutes;
//   - begin at the start when it is run again, whatever the run before has delivered, or return ErrNotRestartable;
//   - return within a second when its context ends - in a delivery, in a silent connection, in a wait - and leave no
//     goroutine;
//   - not count its reconnects forever: each of its connections may deliver one event and break, and one may work for an
//     hour before it breaks;
//   - connect at most 600 times in a minute and at least every 5 minutes while the server refuses connections, or ends
//     them at once, for an hour; and not give up (see [GivesUp]);
//   - not wait for the same times as another client (see [NoJitter]);
//   - if feed.Lost is not nil: ask only for events that it has not been sent, and when its position is lost, either
//     deliver the rest or end with an error that matches the one of the connection.
//
// Each group of scenarios is a subtest, and each run is in a bubble. A fault is reported once, as one line: what broke,
// at which event, what was lost or repeated, and what usually mends it. t is a *testing.T, or a struct that embeds one:
// then the faults go to the struct's Errorf. CheckResume panics if it is called in a bubble.
//
// CheckResume does not see what a kernel does to a dead connection, what the server itself loses, or an effect behind
// the stream. If client stores its position outside of the stream, let each run begin with an empty store. Code that
// freezes a bubble, because it holds a mutex during a wait, is reported and ends its group.
func CheckResume[T, P, V any](t testing.TB, feed Feed[T, P], client func(connect func(at P) stream.Stream[T]) stream.Stream[V], opts ...Option) Report {
	t.Helper()
	feed.require()
	if client == nil {
		panic("reconnecttest: CheckResume: client is nil")
	}
	c := newCheck("CheckResume", "event", resuming[T, P, V]{feed, client}, opts)
	c.units = len(feed.Events)
	groups := slices.Concat(c.breaks(), c.stops(), c.twice(), c.outages())
	if feed.Lost != nil {
		groups = append(groups, c.losses()...)
	}
	return c.run(t, groups)
}

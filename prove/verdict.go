package prove

import (
	"fmt"
	"slices"

	"github.com/retrywhen/retrywhen/internal/judge"
)

// A program does not wait if it makes more than hotConnections in the two seconds of a refusal (600 in a minute are 20,
// and the kernel accepts some for the proxy), or hotWaits without a wait after the one before.
const hotConnections, hotWaits = 25, 9

const mendPast = "does the server tell it another address? Make the server advertise the proxy's, or run the program where it cannot reach the server's own"

// faults judges a run whose breaks have taken place.
func (c *check) faults(o *outcome) (all []judge.Fault) {
	add := func(kind Kind, mend, format string, args ...any) {
		all = append(all, judge.Fault{Kind: string(kind), What: fmt.Sprintf(format, args...), Mend: mend})
	}
	lost := c.allowed.Lost(o.tally)
	and := judge.Suffix(", and lost ", lost)
	s := o.seen
	switch silence := o.plan[len(o.plan)-1].way == Silence; {
	case o.ended && o.panicked != "":
		add(Panic, "", "it panicked: %s", o.panicked)
	case o.ended && o.err != nil && c.GivesUp:
	case o.ended && o.err != nil:
		mend := "is this failure retried?"
		if o.way == Refuse {
			mend = "is a refusal retried, and often enough?"
		}
		add(GaveUp, mend+" GivesUp (--gives-up) allows it", "it gave up after %s: %v", judge.Count(s.connected+s.refused, "connection"), o.err)
	case o.ended && (!c.ref.finite || len(lost) > 0):
		add(Ended, "is the end of a connection taken for the end of the feed?", "it ended without an error%s", and)
	case o.ended:
	case len(o.past) > 0:
		add(Past, mendPast,
			"it delivered %s while every connection through the proxy was broken", judge.AtMost3(o.past))
	case silence && !s.back && !s.noticed && len(lost) > 0:
		add(Silent, "does each read have a deadline, longer than the time between heartbeats? The kernel answers for the other side, so TCP keepalive and TCP_USER_TIMEOUT do not see this",
			"it neither closed the silent connection nor connected again in %v%s", c.Within, and)
	case !s.back && (len(lost) > 0 || !s.working && !silence):
		add(Away, "is every failure retried, and the wait bounded?", "it is not back after %v%s", c.Within, and)
	case len(lost) > 0:
		mend := "does it ask for what follows the last value that it has delivered?"
		switch first := c.ref.values[0]; {
		case o.way == Amid:
			mend = "does it take half a value for a whole one? A value and its position count when their end has come"
		case c.Event != nil && o.plan[0].before == 0 && lost[0] == first:
			mend = "does the server keep events for a program that has not subscribed yet? Before (--before) can make what keeps them"
		}
		add(Lost, mend, "lost %s", judge.AtMost3(lost))
	}
	if s.refused > hotConnections || s.hasty >= hotWaits {
		add(Hot, "is there a wait before each connection?", "it connected %d times in the %v in which it was refused, %d times without a wait", s.refused, refusal, s.hasty)
	}
	for _, f := range c.allowed.Values(o.tally) {
		if f.Kind == string(Foreign) && !slices.ContainsFunc(o.tally.Foreign(), func(v any) bool { return o.p.carried(v.(string)) }) && !c.ref.opaque {
			f.Mend = "is it a line of a log? It never came from the server. Only values count (--values)"
		}
		all = append(all, f)
	}
	switch {
	case o.late:
		add(Late, "does every wait end when it is told to?", "it has not returned %v after it was told to end", c.Stop)
	case o.held > 0:
		add(Open, "does it close what it opens?", "it has returned and left %s open", judge.Count(o.held, "connection"))
	}
	return all
}

package reconnecttest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/retrywhen/retrywhen/internal/judge"
	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/prove"
	"github.com/retrywhen/retrywhen/stream"
)

// fault returns one fault.
func fault(kind Kind, mend, format string, args ...any) []judge.Fault {
	return []judge.Fault{{Kind: string(kind), What: fmt.Sprintf(format, args...), Mend: mend}}
}

// either returns the advice for a stream or for a client that dials.
func (c *check) either(ofStream, ofClient string) string {
	if c.dials {
		return ofClient
	}
	return ofStream
}

// judgeDelivery judges what a client delivered, and how it ended.
func (c *check) judgeDelivery(o *outcome) []judge.Fault {
	all := slices.Concat(c.judgeReturn(o, c.Lost(o.Tally)), c.judgeWaits(o), c.judgeGrowth(o))
	for _, f := range c.Values(o.Tally) {
		if Kind(f.Kind) == prove.Repeated {
			f = o.repeatedFault(f)
		}
		all = append(all, f)
	}
	return append(all, c.judgeLeft(o)...)
}

// judgeGrowth judges what a client leaves open or running with its connections.
func (c *check) judgeGrowth(o *outcome) (all []judge.Fault) {
	r, k := o.record, len(o.counts)
	grows := func(by, connections int) bool { return by > max(2, connections/5) }
	if grows(r.open-r.atFirst, r.made) {
		all = fault(prove.Open, "does it close each connection before it makes the next one? A defer in a loop runs only when its function returns",
			"it had neither used nor closed %s when it made the last one of %d", judge.Count(r.open, "connection"), len(r.dials))
	}
	several := 3 * (r.parallel - 1) // goroutines that may come with further connections that work at once
	if k > 4 && grows(min(o.counts[k-2], o.counts[k-1])-max(o.counts[0], o.counts[1])-several, k) || o.hour() && len(o.grown)-c.running > max(10, len(r.dials)/5) {
		all = append(all, fault(prove.Left, "does each attempt end what it starts?", "after %s, %s run: %s", judge.Count(len(r.dials), "connection"),
			judge.Count(len(o.grown), "goroutine"), judge.List(virtual.Places(o.grown)))...)
	}
	return all
}

// judgeWaits judges the waits of a client that has no connection for an hour.
func (c *check) judgeWaits(o *outcome) []judge.Fault {
	r := o.record
	if !o.hour() || o.lets > 0 || r.hot != "" {
		return nil
	}
	var first, last []time.Duration
	over, before := r.brokenAt.Add(o.lasts), slices.Repeat([]time.Time{r.brokenAt}, max(1, c.parallel))
	for _, at := range r.dials {
		if !at.After(r.brokenAt) || at.After(over) {
			continue
		}
		interval := at.Sub(before[0])
		if len(first) < firstWaits {
			first = append(first, interval)
		}
		if over.Sub(at) < recovery {
			last = append(last, interval)
		}
		before = append(before[1:], at)
	}
	if len(last) == 0 || slices.Max(last) >= calm*9/10 || mean(last) > 2*mean(first) {
		return nil
	}
	return fault(prove.Hot, "does the wait grow with each failure, to 5 s or more, and start over only when a connection has brought something?",
		"its waits did not grow: after 50 minutes it connected once in %v", mean(last).Round(time.Millisecond))
}

// judgeLeft judges what a client has left when it has returned.
func (c *check) judgeLeft(o *outcome) []judge.Fault {
	switch {
	case o.redialled > 0:
		return fault(prove.Late, "does it stop its timers and goroutines before it returns?", "it connected again %v after it had returned", o.redialled)
	case len(o.left) > 0:
		return fault(prove.Left, "does it wait for what it has started?", "it has returned and left %s running: %s",
			judge.Count(len(o.left), "goroutine"), judge.List(virtual.Places(o.left)))
	case o.unclosed == 0:
		return nil
	}
	return fault(prove.Open, "does it close each connection, a broken or silent one too?", "it has returned and left %s open", judge.Count(o.unclosed, "connection"))
}

// judgeReturn judges whether a client came back, and what it lost.
func (c *check) judgeReturn(o *outcome, lost []any) []judge.Fault {
	r := o.record
	broke := r.breaks > 0
	switch {
	case o.panicked != "":
		return fault(prove.Panic, "", "it panicked: %s", o.panicked)
	case r.hot != "":
		return fault(prove.Hot, mendHot(o), "%s", r.hot)
	case o.ended && o.err != nil && c.GivesUp && (o.hour() || !broke):
	case o.ended && o.err != nil:
		kind, mend := c.mendGivingUp(o)
		if c.reported(prove.GaveUp) {
			kind = prove.GaveUp
		}
		return fault(kind, mend, "it gave up after %s: %q", judge.Count(len(r.dials), "connection"), o.err)
	case o.ended && (!c.finite || len(lost) > 0):
		mend := "does it return the error with which it gives up?"
		if o.fate == ends && !o.hour() {
			mend = c.either("is there a MustNotEnd inside open? The end of a connection is not the end of the feed",
				"is the end of a connection taken for the end of the feed?")
		}
		return fault(prove.Ended, mend, "it ended without an error%s", judge.Suffix(", and lost ", lost))
	case o.ended:
	case (o.hour() || o.afterwards >= time.Hour) && len(r.waits) > 0 && slices.Max(r.waits) > longestWait:
		return fault(prove.Cap, c.either("does the backoff have a Cap?", "is there a longest wait?"),
			"it waited for %v before it connected again", slices.Max(r.waits).Round(time.Second))
	case len(lost) > 0 && !r.back && r.silent > 0 && !o.flaps, o.flaps && o.deafened:
		return fault(prove.Silent, c.mendSilence(o), "it noticed nothing in 10 minutes%s", judge.Suffix(", and lost ", lost))
	case broke && !r.back && (len(lost) > 0 || !r.connected):
		return fault(prove.Away, "is every failure retried?", "it did not connect again in 10 minutes%s", judge.Suffix(", and lost ", lost))
	case len(lost) > 0:
		return o.lostFault(lost)
	}
	return nil
}

// mendHot returns what mends a client that does not wait.
func mendHot(o *outcome) string {
	if strings.HasPrefix(o.record.hot, "it connected") {
		return "is there a wait before each connection, also after one that worked or was welcomed?"
	}
	return "does each turn of the loop wait, or end after an error?"
}

// mendSilence returns what mends a client that does not notice silence.
func (c *check) mendSilence(o *outcome) string {
	if o.record.breaks > 1 || o.ignore > 0 {
		return c.either("is the Timeout inside open, so that each connection has it?", "does each connection have the deadlines of the first, from its handshake on?")
	}
	return c.either("is there a Timeout inside open?", "does each read have a deadline, longer than the time between heartbeats?")
}

// mendGivingUp returns the kind of fault of a client that gives up, and what mends it.
func (c *check) mendGivingUp(o *outcome) (Kind, string) {
	switch {
	case o.hour():
		return prove.GaveUp, "is there a limit? GivesUp allows that"
	case o.refuse > 0:
		return prove.GaveUp, "is a refusal retried, and often enough?"
	case o.ignore > 0:
		return prove.GaveUp, "is a dial without an answer retried?"
	case o.afterwards >= time.Hour:
		return prove.Reset, "are attempts or time counted from the beginning? A connection that works starts the count over" + c.either(" (retry.ResetAfter)", "")
	}
	return prove.GaveUp, "is this failure retried?"
}

// lostFault is the fault of a client that came back and has lost values.
func (o *outcome) lostFault(lost []any) []judge.Fault {
	what, mend := "lost "+judge.AtMost3(lost), "does it ask for what follows the last value that its consumer has taken?"
	if len(o.record.asked) == 0 { // it dials
		switch {
		case o.fate == stall:
			mend = "does it drop a part of a value when a deadline passes? What a read returns with an error counts"
		case o.amid:
			mend = "does it take half a value for a whole one? A value and its position count when their end has come"
		}
	} else if at, asked := o.record.sentBefore, o.record.asked[0]; asked > at {
		what += fmt.Sprintf(": after event %d it continued at event %d", at, asked+1)
		mend = "is the position one too far, or does it move before the event is taken? If events share one, it moves when the last of them has been taken"
	} else {
		mend = "does it read ahead, and drop what it has read, or drop as repeated what it has not delivered? The position moves when the consumer has taken the value"
	}
	if o.record.breaks > 1 {
		mend = "does the position survive the second break, before and after the first value of a connection?"
	}
	return fault(prove.Lost, mend, "%s", what)
}

// repeatedFault is the fault of a client that has repeated values.
func (o *outcome) repeatedFault(f judge.Fault) judge.Fault {
	if len(o.record.asked) > 0 {
		f.What += fmt.Sprintf(": after event %d it continued at event %d", o.record.sentBefore, o.record.asked[0]+1)
		f.Mend = "is the position one too low (>= for >)? If the server sends its last event again, or events share a position, the client must drop what it has delivered, or say AtLeastOnce"
		if o.record.asked[0] == 0 && o.record.sentBefore > 1 {
			f.Mend = "does it start from the beginning? Resume continues at a position"
		}
	}
	if o.record.breaks > 1 {
		f.Mend = "does the position survive the second break?"
	}
	return f
}

// firstOf returns the index of the first value that comes from the unit or from a later one.
func (c *check) firstOf(unit int) int {
	i, _ := slices.BinarySearch(c.of, unit)
	return i
}

// judgeStop judges a client whose context has ended or whose consumer has stopped.
func (c *check) judgeStop(o *outcome) []judge.Fault {
	switch {
	case o.panicked != "" || o.record.spins:
		return c.judgeDelivery(o)
	case len(o.past) > 0:
		return fault(prove.Stop, "does it return as soon as yield returns false?", "it called yield again after that had returned false, with %s", judge.AtMost3(o.past))
	case o.late != nil && o.stopAt > 0 && o.second == nil:
		return fault(prove.Stop, "does it return as soon as yield returns false?", "it has not returned a second after yield returned false: %s", judge.List(virtual.Places(o.late)))
	case o.late != nil && o.second == nil:
		mend := "does every wait end with the context?"
		if o.ignore > 0 {
			mend = "does the dial have the run's context?"
		}
		return fault(prove.Late, mend, "it has not returned a second later: %s", judge.List(virtual.Places(o.late)))
	case len(o.left) > 0 || o.unclosed > 0 || o.redialled > 0:
		return c.judgeLeft(o)
	case o.second == nil || errors.Is(o.err, stream.ErrNotRestartable):
		return nil
	}
	if lost := c.Lost(o.second); len(lost) > 0 {
		return fault(prove.Second, "is the position a variable outside of the stream? It belongs to one run, and moves when the consumer has taken the value",
			"a second run of the stream lost %s", judge.AtMost3(lost))
	}
	for _, f := range c.Values(o.second) {
		if Kind(f.Kind) == prove.Repeated {
			return fault(prove.Second, "do runs share state?", "a second run of the stream %s", f.What)
		}
	}
	return nil
}

// judgeLag judges a client for which the log begins at its position.
func (c *check) judgeLag(o *outcome) []judge.Fault {
	if asked := o.record.asked; len(asked) > 0 && asked[0] < o.gone && asked[0] > 0 {
		return fault(prove.Lag, "is a bookmark filtered inside open? Its position counts too (operators.ResumeMarked)",
			"it asked for event %d, which is gone, although it had been sent event %d", asked[0]+1, o.gone)
	}
	return c.judgeDelivery(o)
}

// judgeGone judges a client whose position is lost.
func (c *check) judgeGone(o *outcome) []judge.Fault {
	rest := o.Lost(c.firstOf(o.gone))
	if c.Latest {
		rest = c.Lost(o.Tally)
	}
	switch {
	case o.panicked != "" || o.record.hot != "":
		return c.judgeDelivery(o)
	case len(rest) == 0 || o.ended && errors.Is(o.err, o.record.goneErr):
		return nil
	case o.ended && o.err != nil:
		return fault(prove.Gone, "wrap the error with %w", "it ended with the error %q, which does not match %q", o.err, o.record.goneErr)
	case o.ended:
		return fault(prove.Gone, "return the error", "it ended without an error, and lost %s", judge.AtMost3(rest))
	}
	if i := slices.IndexFunc(o.record.asked, func(at int) bool { return at == 0 || at >= o.gone }); i >= 0 {
		return fault(prove.Gone, "does it continue with the first event that is left, and deliver it?", "it continued at event %d, and lost %s",
			max(o.record.asked[i], o.gone)+1, judge.AtMost3(rest))
	}
	return fault(prove.Gone, "is there a Catch inside open that continues from a snapshot, or a Permanent error?",
		"it asked %d times in an hour for a position that is gone, and lost %s", len(o.record.asked), judge.AtMost3(rest))
}

// judgeStuck judges a run that did not come to an end.
func (c *check) judgeStuck(o *outcome) []judge.Fault {
	switch {
	case o.record.hot != "":
		return fault(prove.Hot, mendHot(o), "%s", o.record.hot)
	case o.spins:
		return fault(prove.Hot, "does each turn of the loop wait, or end after an error?", "it runs for 30 s of real time, and its virtual time does not move:%s",
			virtual.List(slices.DeleteFunc(o.stuck, func(g virtual.Goroutine) bool { return g.State != "running" && g.State != "runnable" })))
	case o.deaf && c.ref != nil:
		return fault(prove.Silent, c.mendSilence(o), "it noticed nothing: it reads without a deadline, and no other goroutine of it waits for time%s", judge.Suffix("; it lost ", c.Lost(o.Tally)))
	}
	return fault(prove.Unjudged, "", "this cannot be judged: time stands still in the bubble, because a goroutine waits for something that is not in it, or for a mutex that is held during a wait:%s",
		virtual.Stuck(o.stuck))
}

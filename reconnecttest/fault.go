package reconnecttest

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/retrywhen/retrywhen/internal/virtual"
	"github.com/retrywhen/retrywhen/stream"
)

// fault is one thing that is wrong with a client. Each kind is reported once.
type fault struct {
	kind string
	what string
	mend string // what usually mends it
	all  string // instead of mend, if nearly every scenario of the group has the fault
}

// finding is a fault, with the first of the scenarios that show it.
type finding struct {
	fault
	where  string
	shown  int // scenarios that show it
	others int // scenarios of the group
}

func (f finding) String() string {
	text := f.where + ": " + f.what
	if f.all != "" && f.shown >= f.others-2 { // but for the first and the last event
		f.mend = f.all
	}
	if f.mend != "" {
		text += "; " + f.mend
	}
	if f.others > 1 {
		text += fmt.Sprintf(" (%d of %d such scenarios)", f.shown, f.others)
	}
	return text
}

// try plays the scenarios of a group, until one cannot be judged.
func (s *subject) try(t *testing.T, scenarios []scenario, judge func(*outcome) []fault) (found []*finding) {
	for _, sc := range scenarios {
		o := s.play(t, sc)
		if o.frozen != nil {
			return append(found, &finding{where: sc.where, fault: fault{kind: "frozen: " + t.Name(), what: standsStill(o.frozen)}})
		}
		for _, f := range judge(o) {
			i := slices.IndexFunc(found, func(other *finding) bool { return other.kind == f.kind })
			if i < 0 {
				i = len(found)
				found = append(found, &finding{fault: f, where: sc.where})
			}
			found[i].mend, found[i].all = f.mend, f.all // a later one has seen more
			found[i].shown++
		}
	}
	for _, f := range found {
		f.others = len(scenarios)
	}
	return found
}

// delivery judges what a client delivered, and how it ended.
func (s *subject) delivery(o *outcome) (all []fault) {
	add := func(kind, mend, format string, args ...any) {
		all = append(all, fault{kind: kind, what: fmt.Sprintf(format, args...), mend: mend})
	}
	lost := o.lost(0)
	switch breaks := !o.net.broken.IsZero(); {
	case o.panicked != "":
		add("panic", "", "it panicked: %s", o.panicked)
	case o.net.hot:
		add("hot", "is there a wait before each connection, and does only an event start the waits over, not a connect?",
			"it connected more than %d times in a minute", hotLoop)
	case o.ended && o.err != nil && s.givesUp && (o.hour || !breaks):
	case o.ended && o.err != nil:
		kind, advice := o.advice()
		if kind == "reset" {
			advice += s.either(" (retry.ResetAfter)", "")
		}
		if s.reported["gave up"] {
			kind = "gave up"
		}
		add(kind, advice, "it gave up after %s: %q", count(len(o.net.dials), "connection"), o.err)
	case o.ended && (!s.ends || len(lost) > 0):
		mend := "does it return the error with which it gives up?"
		if o.fate == ends && !o.hour {
			mend = s.either("is there a MustNotEnd inside open? The end of a connection is not the end of the feed",
				"is the end of a connection taken for the end of the feed?")
		}
		add("ended", mend, "it ended without an error%s", after(", and lost ", lost))
	case o.ended:
	case (o.hour || o.hold > 0) && len(o.net.waits) > 0 && slices.Max(o.net.waits) > longestWait:
		add("cap", s.either("does the backoff have a Cap?", "is there a longest wait?"), "it waited for %v before it connected again", slices.Max(o.net.waits).Round(time.Second))
	case len(lost) > 0 && !o.net.back && o.fate == silence:
		add("silent", s.either("is there a Timeout inside open?", "does each read have a deadline, longer than the time between heartbeats?"), "it noticed nothing in 10 minutes%s", after(", and lost ", lost))
	case breaks && !o.net.back && (len(lost) > 0 || !o.net.open):
		add("away", "is every failure retried?", "it did not connect again in 10 minutes%s", after(", and lost ", lost))
	case len(lost) > 0:
		all = append(all, s.loses(o, lost))
	}
	if o.hour && len(o.grown) > max(10, len(o.net.dials)/2) {
		add("left", "does each attempt end what it starts?", "after %s, %s run: %s", count(len(o.net.dials), "connection"),
			count(len(o.grown), "goroutine"), list(virtual.Places(o.grown)))
	}
	switch {
	case len(o.repeated) > 0 && !s.repeats:
		all = append(all, s.repeating(o))
	case len(o.foreign) > 0 && !s.timely:
		add("foreign", "does it take half a value for a whole one? A value counts when its end has come",
			"it delivered %s, which it does not deliver undisturbed", atMost3(o.foreign))
	case len(o.swapped) > 0 && !s.anyOrder:
		add("order", "does an old connection still deliver? AnyOrder allows that", "it delivered %s before earlier values", atMost3(o.swapped))
	}
	return all
}

// either returns the advice for a stream or for a client that dials.
func (s *subject) either(ofStream, ofClient string) string {
	if s.amid {
		return ofClient
	}
	return ofStream
}

// longestWait is the longest wait in an outage that is not a fault.
const longestWait = 5 * time.Minute

func after(text string, values []any) string {
	if len(values) == 0 {
		return ""
	}
	return text + atMost3(values)
}

// advice returns the kind of fault of a client that gives up, and what mends it.
func (o *outcome) advice() (kind, mend string) {
	switch {
	case o.hour:
		return "gave up", "is there a limit? GivesUp allows that"
	case o.refuse > 0:
		return "gave up", "is a refusal retried, and often enough?"
	case o.hold > 0 || o.afterwards >= time.Hour:
		return "reset", "are attempts or time counted from the beginning? A connection that works starts the count over"
	}
	return "gave up", "is this failure retried?"
}

// loses is the fault of a client that came back and has lost values.
func (s *subject) loses(o *outcome, lost []any) fault {
	f := fault{kind: "lost", what: "lost " + atMost3(lost)}
	if len(o.net.asked) == 0 { // it dials
		f.mend = "does it ask for what follows the last value that its consumer has taken?"
		if o.amid {
			f.mend = "does it take half a value for a whole one? A value and its position count when their end has come"
		}
		return f
	}
	at, asked := o.net.sent, o.net.asked[0]
	if asked <= at {
		f.mend = "does it drop values as repeated ones because they share a position?"
		return f
	}
	f.what += fmt.Sprintf(": after event %d it continued at event %d", at, asked+1)
	f.mend = "do events share a position? It moves when the last of them has been taken"
	f.all = "is the position one too far, or does it move before the event is taken?"
	return f
}

// repeating is the fault of a client that has repeated values.
func (s *subject) repeating(o *outcome) fault {
	f := fault{kind: "repeated", what: "repeated " + atMost3(o.repeated)}
	if len(o.net.asked) == 0 {
		f.mend = "does it ask for what follows the last value? If it cannot, AtLeastOnce allows repeated values"
		return f
	}
	f.what += fmt.Sprintf(": after event %d it continued at event %d", o.net.sent, o.net.asked[0]+1)
	f.mend = "do events share a position? It must drop those that it has delivered, or say AtLeastOnce"
	f.all = "is the position one too low (>= for >)? If the server sends its last event again, the client must drop it"
	if o.net.asked[0] == 0 && o.net.sent > 1 {
		f.mend = "does it start from the beginning? Resume continues at a position"
		f.all = f.mend
	}
	return f
}

// first returns the place of the first value that comes from the unit or from a later one.
func (s *subject) first(unit int) int {
	for place, of := range s.of {
		if of >= unit {
			return place
		}
	}
	return len(s.of)
}

// stopping judges a client whose context has ended or whose consumer has stopped.
func (s *subject) stopping(o *outcome) (all []fault) {
	switch {
	case o.panicked != "":
		return s.delivery(o)
	case o.late != nil && o.second == nil:
		return []fault{{kind: "late", what: "it has not returned a second later: " + list(virtual.Places(o.late)),
			mend: "does every wait end with the context?"}}
	case len(o.left) > 0:
		return []fault{{kind: "left", what: fmt.Sprintf("it has returned and left %s running: %s", count(len(o.left), "goroutine"), list(virtual.Places(o.left))),
			mend: "does it wait for what it has started?"}}
	case o.second == nil || errors.Is(o.err, stream.ErrNotRestartable):
		return nil
	}
	lost := o.second.lost(0)
	switch {
	case len(lost) > 0:
		return []fault{{kind: "second", what: "a second run of the stream lost " + atMost3(lost),
			mend: "is the position a variable outside of the stream? It belongs to one run, and moves when the consumer has taken the value"}}
	case len(o.second.repeated) > 0 && !s.repeats:
		return []fault{{kind: "second", what: "a second run of the stream repeated " + atMost3(o.second.repeated),
			mend: "do runs share state?"}}
	}
	return nil
}

// lagging judges a client for which the log begins at its position.
func (s *subject) lagging(o *outcome) []fault {
	if len(o.net.asked) > 0 && o.net.asked[0] < o.gone && o.net.asked[0] > 0 {
		return []fault{{kind: "lag", what: fmt.Sprintf("it asked for event %d, which is gone, although it had been sent event %d", o.net.asked[0]+1, o.gone),
			mend: "is a bookmark filtered inside open? Its position counts too (operators.ResumeMarked)"}}
	}
	return s.delivery(o)
}

// losing judges a client whose position is lost.
func (s *subject) losing(o *outcome) []fault {
	rest := o.lost(s.first(o.gone))
	switch {
	case o.panicked != "" || o.net.hot:
		return s.delivery(o)
	case len(rest) == 0 || o.ended && errors.Is(o.err, o.net.lostErr):
		return nil
	case o.ended && o.err != nil:
		return []fault{{kind: "gone", what: fmt.Sprintf("it ended with the error %q, which does not match %q", o.err, o.net.lostErr), mend: "wrap the error with %w"}}
	case o.ended:
		return []fault{{kind: "gone", what: "it ended without an error, and lost " + atMost3(rest), mend: "return the error"}}
	}
	return []fault{{kind: "gone", what: fmt.Sprintf("it asked %d times in an hour for a position that is gone, and lost %s", len(o.net.asked), atMost3(rest)),
		mend: "is there a Catch inside open that continues from a snapshot, or a Permanent error?"}}
}

// standsStill is the report of a frozen bubble.
func standsStill(frozen []virtual.Goroutine) string {
	return "this cannot be judged: time stands still in the bubble, because a goroutine waits for something that is not in it, or for a mutex that is held during a wait:" +
		virtual.List(frozen)
}

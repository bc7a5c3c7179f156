package reconnecttest

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/retrywhen/retrywhen/stream"
)

// Feed is the server of a test: a log of events, and what the server sends to a client that asks for a position. It is
// for [CheckResume].
type Feed[T, P any] struct {
	// Events is the log. All events are different. CheckResume finds a limit that is never reset if it is below 12 and
	// below their number.
	Events []T
	// From returns the index of the first event that the server sends for a position, len(Events) if there is none yet.
	// It defines which events share a position, and whether the server sends the last event again.
	From func(at P) int
	// Idle returns a heartbeat or a bookmark, which the server sends while it has no event to send; next is the index
	// of the next event. If Idle is nil, an idle connection is silent.
	Idle func(next int) T
	// Every is the time between two results of Idle, 0 for 10 s.
	Every time.Duration
	// Lost returns the error with which a connection fails if its position lies before Events[oldest], the first event
	// that the server still has. A position for which From returns 0 is never lost. If Lost is nil, the server keeps
	// all events.
	Lost func(oldest int) error
}

func (f Feed[T, P]) require() {
	switch {
	case len(f.Events) == 0:
		panic("reconnecttest: CheckResume: feed.Events is empty")
	case f.From == nil:
		panic("reconnecttest: CheckResume: feed.From is nil")
	case f.Every < 0:
		panic(fmt.Sprintf("reconnecttest: CheckResume: feed.Every is %v, want at least 0", f.Every))
	}
	for i, e := range f.Events {
		same := slices.IndexFunc(f.Events[:i], func(other T) bool { return reflect.DeepEqual(e, other) })
		if same >= 0 {
			panic(fmt.Sprintf("reconnecttest: CheckResume: feed.Events[%d] and [%d] are equal, want all different", same, i))
		}
	}
}

// connect returns the stream that connects and sends the events for the position at.
func (f Feed[T, P]) connect(n *network, at P) stream.Stream[T] {
	return func(ctx context.Context, yield func(T) bool) error {
		severed := make(chan fate, 1)
		l := &link{sever: func(how fate) { severed <- how }}
		if err := n.dial(ctx, l); err != nil {
			return err
		}
		defer n.closes(l)
		if n.flaps && n.after > 0 { // whatever the position, a new event
			return f.send(ctx, n, l, severed, min(n.soFar().units, len(f.Events)-1), yield)
		}
		next := f.From(at)
		if next < 0 || next > len(f.Events) {
			panic(fmt.Sprintf("reconnecttest: CheckResume: feed.From(%+v) is %d, want 0 to %d", at, next, len(f.Events)))
		}
		next, err := n.asks(next, f.Lost)
		if err != nil {
			return err
		}
		return f.send(ctx, n, l, severed, next, yield)
	}
}

// send sends the events from next on, until the connection breaks.
func (f Feed[T, P]) send(ctx context.Context, n *network, l *link, severed <-chan fate, next int, yield func(T) bool) error {
	for {
		idle := next == len(f.Events) || !n.has(l, next)
		pause := eventPace
		switch {
		case idle && f.Idle == nil && n.flaps:
			pause = lifeSign
		case idle:
			pause = cmp.Or(f.Every, idlePause)
		}
		var how fate
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case how = <-severed:
		case <-time.After(pause):
			if !idle {
				how = n.send(l, next, nil)
			}
		}
		if how != unbroken {
			n.breakOne(l, how)
			switch how {
			case cut:
				return errReset
			case silence:
				<-ctx.Done()
				return context.Cause(ctx)
			}
			return nil
		}
		more := true
		switch {
		case !idle:
			next++
			more = yield(f.Events[next-1])
		case f.Idle != nil:
			more = yield(f.Idle(next))
		case l.mute: // a sign of life
			more = yield(f.Events[next-1])
		}
		if !more {
			return nil
		}
	}
}

package op

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/clock"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// sections is one run of Window: the source, which is cut into sections that follow one another. A section is limited
// by the number of its values and, if span is not 0, by time. Without a span it opens with its first value. It belongs
// to the goroutine of the run, or, while that waits for it, to one that runs the open window.
type sections[T any] struct {
	in   *handoff.Receiver[T]
	most int
	span time.Duration

	limit timer.Timer[clock.Stopper]

	first   handoff.Event[T] // the value that has opened the section, if held
	held    bool
	left    int  // how many values the open section can still take
	closed  bool // it takes no more
	over    bool // the source has ended
	failure error
}

// open opens a section. If the source ends before its first value, none is open and it returns the source's error.
func (s *sections[T]) open(ctx context.Context) (err error) {
	s.left, s.closed = s.most, false
	if s.span == 0 {
		s.first, s.held, err = s.next(ctx, nil)
		return err
	}
	s.limit.Set(s.span)
	return nil
}

// each calls yield for the values of the open section, as a stream does, until cut is closed.
func (s *sections[T]) each(ctx context.Context, cut <-chan struct{}, yield func(T) bool) error {
	for {
		event, ok, err := s.next(ctx, cut)
		if !ok {
			return err
		}
		if !yieldAndRequest(event, yield) {
			return nil
		}
	}
}

// yieldAndRequest yields the value and lets the source go on, also when yield panics, for f's stream may recover that.
func yieldAndRequest[T any](event handoff.Event[T], yield func(T) bool) bool {
	defer event.From.Request()
	return yield(event.Value)
}

// next returns the next value of the open section, or false when it is closed, and then the source's error if it was
// that.
func (s *sections[T]) next(ctx context.Context, cut <-chan struct{}) (event handoff.Event[T], ok bool, err error) {
	if err := ending.ContextError(ctx); err != nil {
		return event, false, err
	}
	if s.held {
		s.held = false
		return s.first, true, nil
	}
	if s.closed || s.over {
		return event, false, nil
	}
	event, due, err := s.receive(ctx, cut)
	if err != nil {
		return event, false, err
	}
	if due {
		s.closed = true
		return event, false, nil
	}
	s.over = true // and remains so if Ended raises a panic of the source, which f's stream may recover
	if s.over, s.failure = event.Ended(); s.over {
		s.closed = true
		return event, false, s.failure
	}
	if s.left--; s.left == 0 {
		s.closed = true
	}
	return event, true, nil
}

// receive returns the next event of the source, or true when the time is over, or an error when ctx ends or cut is
// closed. When both an event and the end of the time are there it is the latter, for the time of the event is not
// known.
func (s *sections[T]) receive(ctx context.Context, cut <-chan struct{}) (event handoff.Event[T], due bool, err error) {
	select { // each alone is a fraction of both in one
	case <-s.limit.C():
		return event, true, nil
	default:
	}
	select {
	case <-cut:
		return event, false, errCut
	default:
	}
	select {
	case event = <-s.in.C():
		return event, false, nil
	case <-s.limit.C():
		return event, true, nil
	case <-cut:
		return event, false, errCut
	case <-ctx.Done():
		return event, false, ending.ContextError(ctx)
	}
}

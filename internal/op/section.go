package op

import (
	"context"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// sections is one run of Window: the source, cut into consecutive sections. A section is limited by the number of its
// values and, if span is not 0, by time. Without a span it opens with its first value. Only the goroutine of the run may
// use it, or the goroutine that runs the open window while the goroutine of the run waits for that.
type sections[T any] struct {
	in   *handoff.Receiver[T]
	most int
	span time.Duration

	limit timer.Timer

	first     handoff.Event[T] // the value that has opened the section, if it is held
	held      bool
	remaining int  // number of values that the open section can still take
	closed    bool // the section takes no more values
	over      bool // the source has ended
	failure   error
}

// open opens a section. If the source ends before the section's first value, no section is open, and open returns the
// source's error.
func (s *sections[T]) open(ctx context.Context) (err error) {
	s.remaining, s.closed = s.most, false
	if s.span == 0 {
		s.first, s.held, err = s.next(ctx, nil)
		return err
	}
	s.limit.Set(s.span)
	return nil
}

// each calls yield for the values of the open section, like a stream, until cut is closed.
func (s *sections[T]) each(ctx context.Context, cut <-chan struct{}, yield func(T) bool) error {
	for {
		event, ok, err := s.next(ctx, cut)
		if !ok {
			return err
		}
		if !yieldAndRequest(event.Value, yield, event.From.Request) {
			return nil
		}
	}
}

// yieldAndRequest yields a value and lets its source continue, also if yield panics, because f's stream may recover the
// panic.
func yieldAndRequest[T any](v T, yield func(T) bool, request func()) bool {
	defer request()
	return yield(v)
}

// next returns the next value of the open section. It returns false when the section is closed, with the source's error
// if the source has failed.
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
	s.over = true // set first: Ended may panic with a panic of the source, which f's stream may recover
	if s.over, s.failure = event.Ended(); s.over {
		s.closed = true
		return event, false, s.failure
	}
	if s.remaining--; s.remaining == 0 {
		s.closed = true
	}
	return event, true, nil
}

// receive returns the next event of the source, true when the time is over, or an error when ctx ends or cut is closed.
// If both an event and the end of the time have come, the end counts, because the time of the event is not known.
func (s *sections[T]) receive(ctx context.Context, cut <-chan struct{}) (event handoff.Event[T], due bool, err error) {
	for {
		select { // two selects of one channel each cost a fraction of one select of both
		case <-s.limit.C():
			return event, true, nil
		default:
		}
		select {
		case <-cut:
			return event, false, errCut
		default:
		}
		if event, ok := s.in.Take(); ok {
			return event, false, nil
		}
		select {
		case <-s.in.C():
		case <-s.limit.C():
			return event, true, nil
		case <-cut:
			return event, false, errCut
		case <-ctx.Done():
			return event, false, ending.ContextError(ctx)
		}
	}
}

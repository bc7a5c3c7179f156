package op

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/internal/timer"
)

// Window is operators.Window.
func Window[T, U any, W ~func(context.Context, func(T) bool) error, S ~func(context.Context, func(U) bool) error](
	p Package, s Stream[T], most int, span time.Duration, f func(window W) S,
) Stream[U] {
	require(p, "Window", s, "f", f == nil)
	p.atLeast1("Window", "most", most)
	p.notNegative("Window", "span", span)
	errRun := fmt.Errorf("%s: Window: a window is run once, while f's stream runs: %w", string(p), ending.ErrNotRestartable)
	build := func(w Stream[T]) (Stream[U], error) { return madeBy[U](p, "Window", f(W(w))) }
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		ctx := scope.Context()
		w := sections[T]{
			in: handoff.NewReceiver[T](scope), most: most, span: span,
			limit: timer.New(timer.ClockFrom(ctx)),
		}
		defer w.limit.Stop()
		w.in.Start(s)
		for {
			if err := w.open(ctx); w.over || err != nil {
				return err
			}
			err := runWindow(ctx, &window[T]{sections: &w, errRun: errRun}, build, out.Deliver)
			if out.Stopped() {
				return nil
			}
			if err == nil {
				err = w.each(ctx, nil, func(T) bool { return true }) // drop the values that f's stream has left
			}
			if w.over || err != nil {
				return ending.Join(err, w.failure)
			}
		}
	})
}

// window is a window that f receives.
type window[T any] struct {
	sections *sections[T]
	errRun   error // the error of a window that is run a second time or too late
	used     atomic.Bool
	running  sync.WaitGroup // the window's run
	cut      chan struct{}  // closed when f's stream is over
}

// runWindow runs the stream that f makes of the open window. When it returns, the window's run has returned.
func runWindow[T, U any](ctx context.Context, w *window[T], f func(Stream[T]) (Stream[U], error), yield func(U) bool) error {
	w.cut = make(chan struct{})
	w.running.Add(1)
	defer func() {
		close(w.cut)
		if w.used.Swap(true) {
			w.running.Wait()
		}
	}()
	made, err := f(w.run)
	if err != nil {
		return err
	}
	return made(ctx, yield)
}

func (w *window[T]) run(ctx context.Context, yield func(T) bool) error {
	if w.used.Swap(true) {
		return w.errRun
	}
	defer w.running.Done()
	err := w.sections.each(ctx, w.cut, yield)
	if err == handoff.ErrCut { // the window outlives f's stream
		return w.errRun
	}
	return err
}

// sections is one run of Window: the source, cut into consecutive sections. A section is limited by the number of its
// values and, if span is not 0, by time. Without a span it opens with its first value. Only the goroutine of the run
// may use it, or the goroutine that runs the open window while the goroutine of the run waits for that.
type sections[T any] struct {
	in   *handoff.Receiver[T]
	most int
	span time.Duration

	limit timer.Timer

	first     handoff.Event[T] // the value that has opened the section, if it is held
	held      bool
	remaining int  // number of values that the section can still take, 0 when it is closed
	over      bool // the source has ended
	failure   error
}

// open opens a section. If the source ends before the section's first value, no section is open, and open returns the
// source's error.
func (s *sections[T]) open(ctx context.Context) (err error) {
	s.remaining = s.most
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
	if s.remaining == 0 || s.over {
		return event, false, nil
	}
	event, ok, err = s.in.NextOr(ctx, s.limit.C(), cut)
	if !ok {
		if err == nil { // the time is over
			s.remaining = 0
		}
		return event, false, err
	}
	s.over = true // set first: Ended may panic with a panic of the source, which f's stream may recover
	if s.over, s.failure = event.Ended(); s.over {
		return event, false, s.failure
	}
	s.remaining--
	return event, true, nil
}

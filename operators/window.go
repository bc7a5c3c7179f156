package operators

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/alarm"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
)

// Window cuts s into windows that follow one another, and returns the stream of the values of the streams that f makes
// of them, one after the other. A window closes when it has had as many values as most says, or when span has passed
// since it opened, whichever is sooner. It is Batch without the buffer: f's stream sees each value as it comes.
//
//	s:                       --1-2-3-4-5-|
//	Window(2, 0, sum):       ----3---7---5|
//
//	s:                       --1-2---------3--|
//	Window(max, 5, count):   -----2----0----1-0|
//
// With a span the first window opens when the stream is run and each next one when the one before is done with, so that
// windows may be empty. With a span of 0, which is no limit in time, a window opens with its first value, and none is
// empty. For no limit by count, give math.MaxInt.
//
// It ends when s has ended and f's last stream too. If s fails, the window fails with that error, and the stream does so
// when f's stream has returned, whatever that makes of it. An error of one of f's streams ends it all. Values that f's
// stream does not take, because it has ended or never ran its window, are dropped until the window closes. A window is
// run once, while f's stream runs. A second run fails with stream.ErrNotRestartable, and so does one that begins later or
// outlives f's stream, as may happen to a window that is handed out.
//
// It differs from ReactiveX, whose window yields the windows and leaves it to the consumer to run them. Windows do not
// overlap: an f whose stream lasts longer than its window holds up s, and the next window opens when it has ended.
//
// f and its streams run on the caller's goroutine, and s on one of its own. Time is that of the clock that ctx carries,
// see stream.WithClock. A value that comes exactly when the time is over may be in the window or in the next. f must not
// return nil: the stream fails then. A nil s or f, a most below 1 and a negative span panic.
func Window[T, U any](s stream.Stream[T], most int, span time.Duration, f func(window stream.Stream[T]) stream.Stream[U]) stream.Stream[U] {
	notNil("Window", "s", s == nil)
	requireSize("Window", most, "span", span)
	notNil("Window", "f", f == nil)
	return func(ctx context.Context, yield func(U) bool) error {
		if err := ending.Of(ctx); err != nil {
			return err
		}
		w := windows[T]{limit: alarm.New[stream.Stopper](stream.ClockFrom(ctx))}
		defer w.limit.Stop()
		return relay.Run(ctx, func(scope *relay.Scope) error {
			w.in = relay.NewInlet[T](scope)
			w.in.Start(s)
			stopped := false
			deliver := func(v U) bool {
				stopped = stopped || !yield(v)
				return !stopped
			}
			for {
				if err := w.open(ctx, most, span); w.over || err != nil {
					return ending.Under(ctx, err)
				}
				err := runWindow(ctx, &w, f, deliver)
				if stopped {
					return nil
				}
				if err == nil {
					err = w.each(ctx, nil, func(T) bool { return true }) // what f's stream has left
				}
				if w.over || err != nil {
					return ending.Under(ctx, err, w.failure)
				}
			}
		})
	}
}

// windows is one run of Window. It is used by the goroutine that runs f's stream, or, while that waits for it, by one
// that runs the open window.
type windows[T any] struct {
	in    *relay.Inlet[T]
	limit alarm.Alarm[stream.Stopper]

	first   relay.Event[T] // the value that has opened the window, if held
	held    bool
	left    int  // how many values the open window can still take
	closed  bool // it takes no more
	over    bool // s has ended
	failure error
}

// open opens a window, with a value if it is not limited by time; it returns s's error if s ends instead.
func (w *windows[T]) open(ctx context.Context, most int, span time.Duration) error {
	w.left, w.closed = most, false
	if span > 0 {
		w.limit.Set(span)
		return nil
	}
	first, ok, err := w.next(ctx, nil)
	w.first, w.held = first, ok
	return err
}

// next returns the next value of the open window, or false when it is closed, and then s's error if it was that.
func (w *windows[T]) next(ctx context.Context, cut <-chan struct{}) (event relay.Event[T], ok bool, err error) {
	if err := ending.Of(ctx); err != nil {
		return event, false, err
	}
	if w.held {
		w.held = false
		return w.first, true, nil
	}
	if w.closed || w.over {
		return event, false, nil
	}
	event, due, err := nextOrDue(ctx, cut, w.in, &w.limit)
	if err != nil {
		return event, false, err
	}
	if due {
		w.close()
		return event, false, nil
	}
	w.over = true // and remains so if Ended raises a panic of s, which f's stream may recover
	if w.over, w.failure = event.Ended(); w.over {
		w.close()
		return event, false, w.failure
	}
	if w.left--; w.left == 0 {
		w.close()
	}
	return event, true, nil
}

func (w *windows[T]) close() {
	w.closed = true
	w.limit.Stop()
}

// each calls yield for the values of the open window, as a stream does, until cut is closed.
func (w *windows[T]) each(ctx context.Context, cut <-chan struct{}, yield func(T) bool) error {
	for {
		event, ok, err := w.next(ctx, cut)
		if !ok {
			return err
		}
		if !handOn(event, yield) {
			return nil
		}
	}
}

// handOn yields the value and lets s go on, also when yield panics, for f's stream may recover that.
func handOn[T any](event relay.Event[T], yield func(T) bool) bool {
	defer event.Source.Resume()
	return yield(event.Value)
}

// window is one window, as f sees it.
type window[T any] struct {
	windows *windows[T]
	used    atomic.Bool
	running sync.WaitGroup // its run
	cut     chan struct{}  // closed when f's stream is over
}

// runWindow runs the stream that f makes of the open window. Nobody runs that any more when it returns.
func runWindow[T, U any](ctx context.Context, w *windows[T], f func(stream.Stream[T]) stream.Stream[U], yield func(U) bool) error {
	opened := &window[T]{windows: w, cut: make(chan struct{})}
	opened.running.Add(1)
	defer func() {
		close(opened.cut)
		if opened.used.Swap(true) {
			opened.running.Wait()
		}
	}()
	made := f(opened.run)
	if made == nil {
		return nilStream("Window")
	}
	return made(ctx, yield)
}

func (w *window[T]) run(ctx context.Context, yield func(T) bool) error {
	if w.used.Swap(true) {
		return errWindowRun
	}
	defer w.running.Done()
	return w.windows.each(ctx, w.cut, yield)
}

var errWindowRun = fmt.Errorf("operators: Window: a window is run once, while f's stream runs: %w", stream.ErrNotRestartable)

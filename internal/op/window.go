package op

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/clock"
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
	build := func(w Stream[T]) (Stream[U], error) {
		if made := f(W(w)); made != nil {
			return Stream[U](made), nil
		}
		return nil, p.nilStream("Window")
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		ctx := scope.Context()
		w := sections[T]{
			in: handoff.NewReceiver[T](scope), most: most, span: span,
			limit: timer.New(clock.From(ctx)),
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

// errCut ends the run of a window that outlives f's stream.
var errCut = errors.New("cut")

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
	if err == errCut {
		return w.errRun
	}
	return err
}

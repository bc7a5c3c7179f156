package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// FlatMap is operators.FlatMap.
func FlatMap[T, U any, S ~func(context.Context, func(U) bool) error](p Package, s Stream[T], concurrency int, f func(T) S) Stream[U] {
	p.notNil("FlatMap", "s", s == nil)
	p.atLeast1("FlatMap", "concurrency", concurrency)
	p.notNil("FlatMap", "f", f == nil)
	if concurrency == 1 {
		return concatMap(p, "FlatMap", s, f)
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		outer := handoff.NewReceiver[T](scope)
		m := flatMap[T, U]{
			out:         out,
			concurrency: concurrency,
			source:      outer.Start(s),
			inner:       pool[U]{in: handoff.NewReceiver[result[U]](scope)},
			open:        true,
		}
		for (m.open || m.inner.running > 0) && !out.Stopped() && scope.Err() == nil {
			select {
			case event := <-outer.C():
				if over, err := event.Ended(); err != nil {
					return err
				} else if over {
					m.open = false
					continue
				}
				inner := f(event.Value)
				if inner == nil {
					return p.nilStream("FlatMap")
				}
				m.start(Stream[U](inner))
			case event := <-m.inner.in.C():
				if err := m.receive(event); err != nil {
					return err
				}
			case <-scope.Context().Done():
			}
		}
		return nil
	})
}

// flatMap is one run of FlatMap.
type flatMap[T, U any] struct {
	out         *ending.Consumer[U]
	concurrency int
	source      *handoff.Subscription[T]
	inner       pool[U]
	open        bool // the source has not ended
	waits       bool // the source is held in its yield
}

// start runs an inner stream; the source waits when no more can run.
func (m *flatMap[T, U]) start(inner Stream[U]) {
	m.inner.run(inner)
	if m.waits = m.inner.running >= m.concurrency; !m.waits {
		m.source.Request()
	}
}

// receive takes what an inner stream does.
func (m *flatMap[T, U]) receive(event handoff.Event[result[U]]) error {
	if over, err := event.Ended(); over {
		return err // or the worker was dismissed
	}
	if !event.Value.end {
		if m.out.Deliver(event.Value.value) {
			event.From.Request()
		}
		return nil
	}
	m.inner.ended(event.Value.by)
	if m.waits {
		m.waits = false
		m.source.Request()
	}
	return nil
}

// pool runs inner streams, each on a worker's goroutine; a worker that is done with one takes the next, which costs a
// fraction of a new goroutine with its context and channels.
type pool[U any] struct {
	in      *handoff.Receiver[result[U]]
	running int          // how many inner streams
	idle    []*worker[U] // held in their yield
}

// mostIdle is how many more workers may be idle than run; a burst of streams leaves no more behind.
const mostIdle = 8

// result is a value of an inner stream, or its good end.
type result[U any] struct {
	value U
	end   bool
	by    *worker[U] // at the end
}

type worker[U any] struct {
	subscription *handoff.Subscription[result[U]]
	next         Stream[U] // nil dismisses it; written before it runs and while it is idle
}

// run runs the stream.
func (p *pool[U]) run(next Stream[U]) {
	p.running++
	if last := len(p.idle) - 1; last >= 0 {
		w := p.idle[last]
		p.idle = p.idle[:last]
		w.next = next
		w.subscription.Request()
		return
	}
	w := &worker[U]{next: next}
	w.subscription = p.in.Start(w.work)
}

// ended is called when the worker's stream has ended well.
func (p *pool[U]) ended(w *worker[U]) {
	p.running--
	w.next = nil
	if len(p.idle) >= p.running+mostIdle {
		w.subscription.Request()
		return
	}
	p.idle = append(p.idle, w)
}

// work runs one stream after another.
func (w *worker[U]) work(ctx context.Context, yield func(result[U]) bool) error {
	deliver := func(v U) bool { return yield(result[U]{value: v}) }
	for w.next != nil {
		if err := w.next(ctx, deliver); err != nil {
			return err
		}
		if !yield(result[U]{end: true, by: w}) {
			return nil
		}
	}
	return nil
}

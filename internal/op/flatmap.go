package op

import (
	"context"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/grace"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// FlatMap is operators.FlatMap.
func FlatMap[T, U any, S ~func(context.Context, func(U) bool) error](p Package, s Stream[T], concurrency int, f func(T) S) Stream[U] {
	p.NotNil("FlatMap", "s", s == nil)
	p.atLeast1("FlatMap", "concurrency", concurrency)
	p.NotNil("FlatMap", "f", f == nil)
	if concurrency == 1 {
		return concatMap(p, "FlatMap", s, f)
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		m := &flatMap[U]{scope: scope, out: out, concurrency: concurrency, in: newInbox(scope), open: true}
		defer m.close()
		var value T
		m.source = newOffer(func() error {
			inner := f(value)
			if inner == nil {
				return p.nilStream("FlatMap")
			}
			m.start(Stream[U](inner))
			return nil
		})
		m.outer = scope.Go(func(ctx context.Context) error {
			defer m.in.post(newOffer(m.ended))
			return s(ctx, ending.NewConsumer(func(v T) bool {
				value = v
				return m.in.put(m.source)
			}).Deliver)
		})
		for !out.Stopped() && scope.Err() == nil {
			next := m.in.get(m.over)
			if next == nil {
				break
			}
			if err := next.take(); err != nil {
				return err
			}
		}
		return m.failure
	})
}

// flatMap is one run of FlatMap.
type flatMap[U any] struct {
	scope       *handoff.Scope
	out         *ending.Consumer[U]
	concurrency int
	in          *inbox
	source      *offer // of the source's next value
	outer       *handoff.Task
	failure     error        // of the source: the inner streams are cancelled, and each may deliver one value more
	workers     []*worker[U] // all that have not ended

	// guarded by the lock of in
	open    bool         // the source has not ended
	held    bool         // the source waits with its last value until an inner stream has ended
	running int          // number of running inner streams
	idle    []*worker[U] // workers that wait for an inner stream
}

// mostIdle is how many more workers may be idle than run. It limits the workers that a burst of streams leaves.
const mostIdle = 8

// over reports whether the source and all inner streams have ended.
func (m *flatMap[U]) over() bool { return !m.open && m.running == 0 }

// ended handles the end of the source.
func (m *flatMap[U]) ended() error {
	m.in.mu.Lock()
	m.open = false
	m.in.mu.Unlock()
	if m.failure = m.outer.End(); m.failure != nil {
		all := make([]*grace.Context, len(m.workers))
		for i, w := range m.workers {
			all[i] = w.ctx
		}
		grace.Cancel(all...)
	}
	return nil
}

// start runs the inner stream of the source's value. The source waits if no more streams can run.
func (m *flatMap[U]) start(inner Stream[U]) {
	m.in.mu.Lock()
	m.running++
	m.held = m.running >= m.concurrency
	held := m.held
	if held {
		m.in.taken = nil
	}
	var w *worker[U]
	if last := len(m.idle) - 1; last >= 0 {
		w, m.idle = m.idle[last], m.idle[:last]
	}
	m.in.mu.Unlock()
	if w == nil {
		w = m.hire()
	}
	w.ctx.Reset()
	w.inner <- inner
	if !held {
		m.in.answer(true)
	}
}

// close stops everything that waits.
func (m *flatMap[U]) close() {
	m.in.close()
	if m.in.taken != nil {
		m.in.taken.answers <- false
	}
	m.in.mu.Lock()
	defer m.in.mu.Unlock()
	if m.held {
		m.source.answers <- false
	}
	for _, w := range m.workers {
		close(w.inner)
		w.ctx.End()
	}
}

// worker runs inner streams one after another. That costs a fraction of a new goroutine and context for each stream.
type worker[U any] struct {
	m     *flatMap[U]
	task  *handoff.Task
	ctx   *grace.Context
	index int            // in the list of all workers
	inner chan Stream[U] // the next stream; closed when there will be none
	value U
	offer *offer // of the value
}

// hire returns a new worker.
func (m *flatMap[U]) hire() *worker[U] {
	w := &worker[U]{m: m, index: len(m.workers), inner: make(chan Stream[U], 1)}
	w.offer = newOffer(w.take)
	w.task = m.scope.Go(w.work)
	w.ctx = grace.New(w.task.Context(), w.task.Cancel)
	m.workers = append(m.workers, w)
	return w
}

// take delivers the worker's value.
func (w *worker[U]) take() error {
	v := w.value
	var none U
	w.value = none
	if w.m.out.Deliver(v) {
		w.m.in.answer(w.m.failure == nil)
	}
	return nil
}

// ended handles the end of the worker.
func (w *worker[U]) ended() error {
	err := w.task.End()
	m := w.m
	last := len(m.workers) - 1
	m.workers[w.index] = m.workers[last]
	m.workers[w.index].index = w.index
	m.workers[last] = nil
	m.workers = m.workers[:last]
	if err != nil && m.failure != nil {
		m.in.mu.Lock()
		defer m.in.mu.Unlock()
		m.running--
		return nil
	}
	return err
}

func (w *worker[U]) work(context.Context) error {
	defer w.m.in.post(newOffer(w.ended))
	deliver := ending.NewConsumer(func(v U) bool {
		w.value = v
		more := w.m.in.put(w.offer)
		w.ctx.Begin()
		return more
	}).Deliver
	for inner := range w.inner {
		err := inner(w.ctx, deliver)
		w.ctx.Begin()
		if err != nil {
			return err
		}
		if !w.done() {
			break
		}
	}
	return nil
}

// done is called when an inner stream has ended without an error. It reports whether the worker must wait for another.
func (w *worker[U]) done() bool {
	m := w.m
	m.in.mu.Lock()
	m.running--
	if m.in.closed {
		m.in.mu.Unlock()
		return false
	}
	more := len(m.idle) < m.running+mostIdle
	if more {
		m.idle = append(m.idle, w)
	}
	held := m.held
	m.held = false
	if m.over() {
		m.in.unlockAndWake()
	} else {
		m.in.mu.Unlock()
	}
	if held {
		m.source.answers <- true
	}
	return more
}

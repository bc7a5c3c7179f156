package op

import (
	"context"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// FlatMap is operators.FlatMap.
func FlatMap[T, U any, S ~func(context.Context, func(U) bool) error](p Package, s Stream[T], concurrency int, f func(T) S) Stream[U] {
	require(p, "FlatMap", s, "f", f == nil)
	p.atLeast1("FlatMap", "concurrency", concurrency)
	if concurrency == 1 {
		return concatMap(p, "FlatMap", s, f)
	}
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[U]) error {
		m := &flatMap[U]{
			scope: scope, in: handoff.NewReceiver[U](scope), concurrency: concurrency,
			workers: make(map[*handoff.Source[U]]*handoff.Inner),
			streams: make(chan Stream[U], mostIdle),
		}
		defer m.leave()
		var value T
		var none U
		m.source = startInto(m.in, s, &value, none)
		for open := true; open || len(m.workers) > 0; {
			event, err := m.in.NextAfter(m.dispatch)
			if err != nil {
				return err
			}
			over, err := event.Ended()
			switch {
			case event.From == m.source && over:
				open = false
				m.end(err)
			case event.From == m.source:
				inner, err := madeBy[U](p, "FlatMap", f(value))
				if err != nil {
					return err
				}
				m.start(inner)
			case over:
				if delete(m.workers, event.From); err != nil && m.failure == nil {
					return err
				}
			default:
				m.dispatch() // the consumer may take long
				if !out.Deliver(event.Value) {
					return nil
				}
				event.From.Request()
			}
		}
		return m.failure
	})
}

// flatMap is one run of FlatMap.
type flatMap[U any] struct {
	scope       *handoff.Scope
	in          *handoff.Receiver[U] // of the source, without its values, and of the workers
	concurrency int
	source      *handoff.Source[U]
	failure     error // of the source
	workers     map[*handoff.Source[U]]*handoff.Inner
	streams     chan Stream[U] // for idle workers

	mu      sync.Mutex
	running int         // number of inner streams, including those that no worker has yet
	held    bool        // the source waits with its last value until an inner stream has ended
	pending []Stream[U] // no worker has them yet
	idle    int         // number of workers that wait for a stream
	closed  bool        // there will be no more streams
}

// mostIdle is how many workers may be idle. It limits those that a burst of streams leaves.
const mostIdle = 8

// start makes an inner stream of the source's value pending. The source waits if no more can run.
func (m *flatMap[U]) start(inner Stream[U]) {
	m.mu.Lock()
	m.running++
	m.pending = append(m.pending, inner)
	m.held = m.running >= m.concurrency
	held := m.held
	m.mu.Unlock()
	if !held {
		m.source.Request()
	}
}

// dispatch gives the pending streams to workers that are idle or new, but first lets those go on that are about to end:
// such a worker takes one without being woken for it. A worker runs streams one after another, which costs a fraction
// of a new goroutine and context for each.
func (m *flatMap[U]) dispatch() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.pending) == 0 {
		return
	}
	m.mu.Unlock()
	runtime.Gosched()
	m.mu.Lock()
	for _, inner := range m.pending {
		if m.idle > 0 {
			m.idle--
			m.streams <- inner
			continue
		}
		ctx, cancel := context.WithCancel(m.scope.Context())
		run := handoff.NewInner(ctx, cancel)
		m.workers[m.in.Start(func(_ context.Context, yield func(U) bool) error { return m.work(run, inner, yield) })] = run
	}
	clear(m.pending)
	m.pending = m.pending[:0]
}

// work runs inner, and then others.
func (m *flatMap[U]) work(ctx *handoff.Inner, inner Stream[U], yield func(U) bool) error {
	defer ctx.End()
	deliver := ending.NewConsumer(func(v U) bool {
		more := yield(v)
		ctx.Begin()
		return more && !ctx.Cancelled()
	}).Deliver
	for more := true; more; {
		err := inner(ctx, deliver)
		ctx.Begin()
		if err != nil {
			return err
		}
		inner, more = m.another(ctx)
	}
	return nil
}

// another returns another inner stream, if one is pending or comes, to a worker whose stream has ended without an
// error.
func (m *flatMap[U]) another(ctx *handoff.Inner) (inner Stream[U], more bool) {
	m.mu.Lock()
	m.running--
	held := m.held
	m.held = false
	ctx.Reset()
	waits := false
	if last := len(m.pending) - 1; last >= 0 {
		inner, m.pending, more = m.pending[last], m.pending[:last], true
	} else if waits = !m.closed && m.idle < mostIdle; waits {
		m.idle++
	}
	m.mu.Unlock()
	if held {
		m.source.Request()
	}
	if waits {
		inner, more = <-m.streams
	}
	return inner, more
}

// end lets the inner streams end after the source. If it has failed, they are cancelled, and each may deliver one value
// more.
func (m *flatMap[U]) end(err error) {
	m.dispatch()
	m.close()
	if m.failure = err; err != nil {
		handoff.CancelInner(slices.Collect(maps.Values(m.workers))...)
	}
}

// close lets no more inner streams begin.
func (m *flatMap[U]) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = nil
	if !m.closed {
		m.closed = true
		close(m.streams)
	}
}

// leave lets no more inner streams begin, and ends the contexts of those that run.
func (m *flatMap[U]) leave() {
	m.close()
	for _, ctx := range m.workers {
		ctx.End()
	}
}

// ConcatMap is operators.ConcatMap.
func ConcatMap[T, U any, S ~func(context.Context, func(U) bool) error](p Package, s Stream[T], f func(T) S) Stream[U] {
	require(p, "ConcatMap", s, "f", f == nil)
	return concatMap(p, "ConcatMap", s, f)
}

func concatMap[T, U any, S ~func(context.Context, func(U) bool) error](p Package, operator string, s Stream[T], f func(T) S) Stream[U] {
	return func(ctx context.Context, yield func(U) bool) error {
		out := ending.NewConsumer(yield)
		deliver := out.Deliver
		var failure error
		err := s(ctx, func(v T) bool {
			if out.Stopped() || failure != nil {
				return false
			}
			inner, err := madeBy[U](p, operator, f(v))
			if failure = err; err == nil {
				failure = inner(ctx, deliver)
			}
			return !out.Stopped() && failure == nil
		})
		switch {
		case out.Stopped():
			return nil
		case failure != nil:
			return failure
		}
		return err
	}
}

package stream

import (
	"context"
	"slices"
	"sync"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
)

// failures carries the failures of one subscription to its handler, and decides which values of the handler are
// answers. The subscription calls post and answer; the handler's runs of the failures call take, on any goroutine.
type failures struct {
	mu       sync.Mutex
	current  Failure
	pending  bool // current is not answered yet
	received bool // a run has yielded current
	ran      bool // there has been a run
	closed   bool // the subscription is over
	runs     []*failuresRun
}

// failuresRun is one run of the failures.
type failuresRun struct {
	queue []Failure
	wake  chan struct{} // made when the run first waits
}

// post delivers the next failure to every run.
func (m *failures) post(next *attempt.Attempt) {
	f := Failure{Err: next.Err, N: next.N, Items: next.Items, Lasted: next.Lasted}
	m.mu.Lock()
	m.current, m.pending, m.received = f, true, false
	for _, r := range m.runs {
		r.queue = append(r.queue, f)
		r.wakeUp()
	}
	m.mu.Unlock()
}

// answer reports whether a value with the number n is the answer to the current failure. If so, the failure is
// answered.
func (m *failures) answer(n int) bool {
	m.mu.Lock()
	ok := (m.received || !m.ran) && (n == 0 || n == m.current.N)
	if ok {
		m.pending = false
	}
	m.mu.Unlock()
	return ok
}

// close ends every run.
func (m *failures) close() {
	m.mu.Lock()
	m.closed = true
	for _, r := range m.runs {
		r.wakeUp()
	}
	m.mu.Unlock()
}

// run is the stream of failures that the handler receives.
func (m *failures) run(ctx context.Context, yield func(Failure) bool) error {
	r := m.enter()
	defer m.leave(r)
	for {
		if ctx.Err() != nil {
			return ending.ContextError(ctx)
		}
		f, wake, closed := m.take(r)
		switch {
		case closed:
			return nil
		case wake == nil:
			if !yield(f) {
				return nil
			}
		default:
			select {
			case <-wake:
			case <-ctx.Done():
			}
		}
	}
}

func (m *failures) enter() *failuresRun {
	r := new(failuresRun)
	m.mu.Lock()
	m.ran = true
	if m.pending {
		r.queue = append(r.queue, m.current)
	}
	m.runs = append(m.runs, r)
	m.mu.Unlock()
	return r
}

func (m *failures) leave(r *failuresRun) {
	m.mu.Lock()
	m.runs = slices.DeleteFunc(m.runs, func(other *failuresRun) bool { return other == r })
	m.mu.Unlock()
}

// take returns the next failure for r, or a channel to wait on.
func (m *failures) take(r *failuresRun) (f Failure, wake <-chan struct{}, closed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return f, nil, true
	}
	if len(r.queue) == 0 {
		if r.wake == nil {
			r.wake = make(chan struct{}, 1)
		}
		return f, r.wake, false
	}
	f, r.queue[0] = r.queue[0], Failure{}
	if len(r.queue) == 1 {
		r.queue = r.queue[:0]
	} else { // the run lags behind, perhaps by a million failures
		r.queue = r.queue[1:]
	}
	m.received = m.received || f.N == m.current.N
	return f, nil, false
}

// wakeUp wakes the run if it waits.
func (r *failuresRun) wakeUp() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

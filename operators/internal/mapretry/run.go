package mapretry

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// run is one run of a MapRetry. The mutex is held only for the scheduler, never while other code runs (a clock's
// included), and never during a wait.
type run[T, U any] struct {
	Options[T]
	src    stream.Stream[T]
	policy retry.Policy
	engine attempt.Engine // of the policy
	f      func(context.Context, T) (U, error)

	ctx    context.Context // ends with the run
	cancel context.CancelFunc
	clock  stream.Clock
	began  time.Time
	timer  *ticker
	fired  chan struct{} // from the policy's signals; nil if it has none

	goroutines sync.WaitGroup
	work       chan struct{} // wakes a worker; closed at the end
	room       chan struct{} // wakes the source; closed at the end
	news       chan struct{} // wakes the consumer

	mu        sync.Mutex
	scheduler scheduler[T, U]
	closed    bool
	sourceErr error
	crash     *handoff.Outcome // of the first goroutine that did not return

	// The number of results that the consumer has taken is shared without the lock.
	unprocessed atomic.Int64   // results that it has not processed yet
	workersWait atomic.Bool    // the scheduler's
	rest        []result[T, U] // used only by the consumer
	fatal       *result[T, U]  // the one that has ended the stream
}

func newRun[T, U any](
	ctx context.Context, src stream.Stream[T], p retry.Policy, f func(context.Context, T) (U, error), o Options[T],
) *run[T, U] {
	r := &run[T, U]{
		Options:   o,
		src:       src,
		policy:    p.With(retry.Quiet()),
		f:         f,
		clock:     p.Clock(ctx),
		work:      make(chan struct{}, o.Workers),
		room:      make(chan struct{}, 1),
		news:      make(chan struct{}, 1),
		scheduler: newScheduler[T, U](o.Workers, o.MaxPending, o.Ordered),
	}
	r.engine = attempt.EngineOf(r.policy)
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.began = r.clock.Now()
	r.timer = newTicker(r.clock, r.began)
	if r.engine.Fires() > 0 {
		r.fired = make(chan struct{}, 1)
		r.engine.Notify(r.fired)
		r.scheduler.fires = r.engine.Fires()
	}
	return r
}

// now returns the time since the start of the run.
func (r *run[T, U]) now() time.Duration { return r.clock.Now().Sub(r.began) }

// lock locks the mutex and passes the consumer's position to the scheduler.
func (r *run[T, U]) lock() {
	r.mu.Lock()
	r.scheduler.comeTo(int(r.unprocessed.Load()))
}

// unlock does the scheduler's todo and unlocks the mutex.
func (r *run[T, U]) unlock() {
	s := &r.scheduler
	if s.workersWait {
		// The consumer reads workersWait after it has stored unprocessed, so one of the two sees the other's change.
		r.workersWait.Store(true)
		s.comeTo(int(r.unprocessed.Load()))
	}
	if s.todo != (todo{}) && !r.closed {
		r.do(s.todo)
	}
	s.todo = todo{}
	r.mu.Unlock()
}

// do wakes the source and the workers last, because the last goroutine woken runs first. So there are items for the
// workers when the consumer has made room for their results.
func (r *run[T, U]) do(what todo) {
	if what.consumer {
		r.wakeConsumer()
	}
	if what.source {
		r.room <- struct{}{}
	}
	for range what.wake {
		r.work <- struct{}{}
	}
	for range what.start {
		r.start(r.runWorker)
	}
}

func (r *run[T, U]) wakeConsumer() {
	select {
	case r.news <- struct{}{}:
	default: // it was woken already
	}
}

// start runs f on a goroutine of the run.
func (r *run[T, U]) start(f func()) {
	r.goroutines.Go(func() {
		outcome := new(handoff.Outcome)
		defer r.crashed(outcome)
		outcome.Of(f)
	})
}

// crashed records how a goroutine has ended. If it did not return, the run is over.
func (r *run[T, U]) crashed(outcome *handoff.Outcome) {
	if outcome.Returned() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.crash == nil {
		r.crash = outcome
	}
	r.wakeConsumer()
}

func (r *run[T, U]) runSource() {
	err := r.src(r.ctx, r.accept)
	r.lock()
	r.sourceErr = err
	r.scheduler.endSource()
	r.unlock()
}

// accept is the source's yield: it returns when there is room for the item.
func (r *run[T, U]) accept(v T) bool {
	r.lock()
	defer r.unlock()
	for !r.closed && !r.scheduler.offer(v) {
		r.unlock()
		<-r.room
		r.lock()
	}
	if r.closed {
		r.scheduler.unfinished = append(r.scheduler.unfinished, &item[T]{value: v})
	}
	return !r.closed
}

func (r *run[T, U]) consume(ctx context.Context, yield func(U) bool) error {
	defer r.shutDown()
	r.start(r.runSource)
	var batch []result[T, U]
	for {
		batch = r.receive(ctx, batch)
		if len(batch) == 0 {
			break
		}
		for r.rest = batch; len(r.rest) > 0; {
			r.comeTo(len(r.rest) - 1)
			if ctx.Err() != nil {
				return ending.ContextError(ctx)
			}
			next := &r.rest[0]
			r.rest = r.rest[1:]
			if more, err := r.deliver(ctx, next, yield); !more {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return ending.ContextError(ctx)
	}
	r.lock()
	defer r.mu.Unlock()
	return r.sourceErr // has no meaning after a crash, when the source may still run
}

// deliver passes a result to the consumer. It returns false if that ends the stream, and the error that ends it.
func (r *run[T, U]) deliver(ctx context.Context, next *result[T, U], yield func(U) bool) (bool, error) {
	switch next.kind {
	case success:
		return yield(next.value), nil
	case deadLetter:
		if err := r.DeadLetter(ctx, next.item, next.err.(*retry.Error)); err != nil {
			return false, ending.Error(ctx, r.withSourceErr(err))
		}
	case fatal:
		r.fatal = next
		return false, r.withSourceErr(next.err)
	}
	return true, nil
}

// receive waits for results and returns them. It reuses the slice of used results. It returns no results if there will
// be none: ctx has ended, everything is done, or a goroutine has crashed.
func (r *run[T, U]) receive(ctx context.Context, used []result[T, U]) []result[T, U] {
	r.lock()
	defer r.unlock()
	for ctx.Err() == nil && r.crash == nil {
		batch, more := r.scheduler.take(used)
		r.unprocessed.Store(int64(len(batch)))
		if len(batch) > 0 || !more {
			return batch
		}
		used = batch
		r.unlock()
		select {
		case <-r.news:
		case <-ctx.Done():
		}
		r.lock()
	}
	return nil
}

// comeTo records how many results the consumer has not processed yet. It takes the lock only if a worker waits for
// room.
func (r *run[T, U]) comeTo(left int) {
	r.unprocessed.Store(int64(left))
	if r.workersWait.Load() {
		r.lock()
		r.workersWait.Store(false)
		r.unlock()
	}
}

// withSourceErr returns the error that ends the stream, joined with the source's if the source has failed before.
func (r *run[T, U]) withSourceErr(err error) error {
	r.lock()
	defer r.mu.Unlock()
	if r.sourceErr == nil {
		return err
	}
	return fmt.Errorf("%w: after the source had failed: %w", err, r.sourceErr)
}

package operators

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/engine"
	"github.com/retrywhen/retrywhen/internal/handoff"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// mapRun is one run of a MapRetry: what the goroutines of the source, of the workers and of the consumer share. The
// mutex is held for the bookkeeping alone, never while anybody's code runs, a clock's included, and never for a wait.
type mapRun[T, U any] struct {
	MapRetryOptions[T]
	src    stream.Stream[T]
	policy engine.Policy[retry.State]
	f      func(context.Context, T) (U, error)

	ctx      context.Context // ends with the run
	cancel   context.CancelFunc
	deadline time.Time
	clock    stream.Clock
	base     time.Time
	timer    *mapTimer
	slack    int           // how many fresh items there may be, and how many results
	timed    bool          // the policy wants to know how long calls last
	observes bool          // and how items end
	fired    chan struct{} // from the policy's signals, nil if it has none
	unwatch  func()

	all  sync.WaitGroup
	work chan struct{} // each token wakes a worker; closed at the end
	room chan struct{} // wakes the source; closed at the end
	news chan struct{} // wakes the consumer

	mu        sync.Mutex
	closed    bool
	sourceEnd bool
	sourceErr error
	fresh     queue[T] // taken from the source, not called yet
	called    int64    // items that left fresh
	waiting   waitingRoom[T]
	calls     int // being made
	out       outcomes[T, U]
	last      int64                 // the seq of the item that ends the stream: none after it is called
	left      []outcome[T, U]       // not finished, and in none of the places above
	observed  map[int64]observation // by seq, of items that have failed; nil if nobody wants to know
	crash     *crash
	ending    bool   // an item ends the stream with its error
	fires     uint64 // of the policy's signals, as far as waiting has heard

	workers  int // that were started
	coming   int // that were woken or started, and have not looked for an item yet
	parked   int // that wait
	watching int // that wait for the timer too
	tokens   int // in work

	stalled       atomic.Bool  // a worker found no place for another result
	batch         atomic.Int64 // outcomes that the consumer has taken but not come to
	arming        bool         // the timer is being set
	armed         int64        // when the timer ticks; noTime if it has, or is not set
	sourceWaits   bool
	consumerWaits bool
}

// crash is what ended a goroutine that did not return: a panic, or nil for runtime.Goexit.
type crash struct{ panic *handoff.Panic }

func newMapRun[T, U any](ctx context.Context, src stream.Stream[T], p retry.Policy, f func(context.Context, T) (U, error), o MapRetryOptions[T]) *mapRun[T, U] {
	policy := engine.Of[retry.State](p).Quiet()
	r := &mapRun[T, U]{
		MapRetryOptions: o, src: src, policy: policy, f: f,
		clock:    policy.Clock(ctx),
		timed:    policy.TimesAttempts(),
		observes: policy.Observes(),
		work:     make(chan struct{}, o.Workers),
		room:     make(chan struct{}, 1),
		news:     make(chan struct{}, 1),
		last:     math.MaxInt64,
		slack:    max(o.Workers, 4),
		armed:    noTime,
	}
	if r.observes || o.Context != nil {
		r.observed = make(map[int64]observation)
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.deadline, _ = ctx.Deadline()
	r.out.ordered = o.Ordered
	r.base = r.clock.Now()
	r.timer = newMapTimer(r.clock)
	fired := make(chan struct{}, 1)
	if stop, ok := policy.Watch(fired); ok {
		r.unwatch, r.fired, r.fires = stop, fired, policy.Fires()
	}
	return r
}

// now returns the time since the run began.
func (r *mapRun[T, U]) now() int64 { return int64(r.clock.Now().Sub(r.base)) }

// run consumes on the caller's goroutine; when it returns all others have ended.
func (r *mapRun[T, U]) run(ctx context.Context, yield func(U) bool) error {
	err := r.consume(ctx, yield)
	if r.crash != nil {
		if r.crash.panic == nil {
			runtime.Goexit()
		}
		panic(r.crash.panic)
	}
	return err
}

func (r *mapRun[T, U]) consume(ctx context.Context, yield func(U) bool) error {
	var batch, rest []outcome[T, U]
	defer func() { r.end(rest) }()
	if ctx.Err() != nil {
		return ending.ContextError(ctx)
	}
	r.all.Add(1)
	go r.runSource()
	for {
		var more bool
		if batch, more = r.receive(ctx, batch); !more {
			break
		}
		for i := range batch {
			o := &batch[i]
			rest = batch[i:]
			r.advance(len(batch) - i - 1)
			if ctx.Err() != nil {
				return ending.ContextError(ctx)
			}
			rest = batch[i+1:]
			switch {
			case o.err != nil:
				rest = batch[i:]
				r.ending = true
				return r.withSourceErr(o.err)
			case o.dead != nil:
				if err := r.DeadLetter(ctx, o.item, o.dead); err != nil {
					return r.withSourceErr(err)
				}
			case o.dropped:
			case !yield(o.value):
				return nil
			}
		}
	}
	if ctx.Err() != nil {
		return ending.ContextError(ctx)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.sourceErr // of no meaning after a crash, when the source may be at it still
}

// receive waits for outcomes and returns them, in place of those that are used up. It returns false when there will be
// none, for ctx has ended, or all is done, or a goroutine has crashed.
func (r *mapRun[T, U]) receive(ctx context.Context, used []outcome[T, U]) ([]outcome[T, U], bool) {
	clear(used)
	r.mu.Lock()
	defer r.mu.Unlock()
	for {
		switch {
		case ctx.Err() != nil, r.crash != nil:
			return nil, false
		case len(r.out.ready) > 0:
			batch := r.out.ready
			r.out.ready = used[:0]
			r.batch.Store(int64(len(batch)))
			r.admit()
			return batch, true
		case r.done():
			return nil, false
		}
		r.consumerWaits = true
		r.mu.Unlock()
		select {
		case <-r.news:
		case <-ctx.Done():
		}
		r.mu.Lock()
		r.consumerWaits = false
	}
}

// advance notes how many outcomes are left in the consumer's batch, and wakes a worker if one waits for a place.
func (r *mapRun[T, U]) advance(left int) {
	r.batch.Store(int64(left))
	if r.stalled.Load() {
		r.mu.Lock()
		if r.stalled.Load() && r.vacant() {
			r.stalled.Store(false)
			r.wakeWorker()
		}
		r.mu.Unlock()
	}
}

func (r *mapRun[T, U]) done() bool {
	return r.sourceEnd && r.fresh.len() == 0 && r.calls == 0 && r.waiting.len() == 0
}

// tell wakes the consumer if there is something for it.
func (r *mapRun[T, U]) tell() {
	if r.consumerWaits && (len(r.out.ready) > 0 || r.crash != nil || r.done()) {
		r.consumerWaits = false
		select {
		case r.news <- struct{}{}:
		default:
		}
	}
}

// end stops everything, waits for it and reports what was not finished.
func (r *mapRun[T, U]) end(rest []outcome[T, U]) {
	r.mu.Lock()
	r.closed = true
	close(r.work)
	close(r.room)
	r.mu.Unlock()
	r.cancel()
	r.all.Wait()
	r.timer.stop()
	if r.unwatch != nil {
		r.unwatch()
	}
	if r.observes && r.crash == nil {
		r.finishLeft()
	}
	if r.OnAbandon == nil {
		return
	}
	if r.ending && r.crash == nil {
		rest = rest[1:] // the stream ends with the error of the first one, which a panic would hide
	}
	for i := range rest {
		r.OnAbandon(rest[i].item, rest[i].attempts)
	}
	for o := range r.out.all() {
		r.OnAbandon(o.item, o.attempts)
	}
	for i := range r.left {
		r.OnAbandon(r.left[i].item, r.left[i].attempts)
	}
	for j := range r.waiting.all() {
		r.OnAbandon(j.item, int(j.row.attempts))
	}
	for item := range r.fresh.all() {
		r.OnAbandon(item, 0)
	}
}

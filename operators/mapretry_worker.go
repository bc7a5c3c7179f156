package operators

import (
	"context"
	"math"
	"time"

	"github.com/retrywhen/retrywhen/internal/attempt"
	"github.com/retrywhen/retrywhen/retry"
	"github.com/retrywhen/retrywhen/stream"
)

// verdict is what a call has come to.
type verdict uint8

const (
	finished  verdict = iota // there is an outcome for the consumer
	putAside                 // the item waits for its next call
	abandoned                // the run is over
)

// runWorker makes one call after the other.
func (r *mapRun[T, U]) runWorker() {
	var (
		j     job[T]
		o     outcome[T, U]
		state retry.State
		seen  observation
		busy  bool
	)
	defer r.all.Done()
	defer func() {
		if busy { // the call did not return
			r.crashed(recover(), &o)
		}
	}()
	now := int64(noTime)
	r.mu.Lock()
	r.coming--
	for r.next(&j, now) {
		busy, seen = true, r.observed[j.seq]
		r.mu.Unlock()
		v, at, due := r.call(&j, &o, &state, &seen)
		r.mu.Lock()
		busy = false
		if r.observed != nil {
			r.observe(v, j.seq, &seen)
		}
		r.settle(v, &j, &o, at, due)
		now = at
	}
	r.mu.Unlock()
}

// call makes one call for j. It returns what that came to, the time if it had to be asked, and when the item is due if
// it is put aside. state is room for its State.
func (r *mapRun[T, U]) call(j *job[T], o *outcome[T, U], state *retry.State, seen *observation) (v verdict, now, due int64) {
	*o = outcome[T, U]{seq: j.seq, attempts: int(j.row.attempts), item: j.item}
	if r.ctx.Err() != nil {
		return abandoned, noTime, 0
	}
	ctx, deadline := r.ctx, r.deadline
	if r.Context != nil {
		ctx = r.Context(ctx, j.item)
		deadline, _ = ctx.Deadline()
	}
	if ctx.Err() != nil {
		*state = j.row.row(r.base, r.signalled())
		return r.cancelled(ctx, o, state, seen, state.Retries-1)
	}
	o.attempts++
	value, lasted, err := r.attempt(ctx, o, seen)
	switch {
	case err == nil:
		if r.observed != nil && o.attempts > 1 && ctx.Err() == nil {
			r.policy.Recovered(ctx, seen.last, o.attempts-1, r.clock.Now().Sub(timeSince(r.base, j.row.first)))
		}
		r.policy.Succeeded(1)
		r.over(ctx, o.attempts, seen, nil)
		o.value = value
		return finished, noTime, 0
	case r.ctx.Err() != nil:
		return abandoned, noTime, 0
	}
	at := r.clock.Now()
	now = int64(at.Sub(r.base))
	*state = j.row.row(r.base, r.signalled())
	seen.last = err
	if ctx.Err() != nil {
		if state.Attempts++; state.Attempts == 1 {
			state.First = at
		}
		return r.cancelled(ctx, o, state, seen, state.Retries)
	}
	delay, end := r.policy.Decide(ctx, state, stream.Failure{Err: err, Lasted: lasted}, at, deadline)
	if end == nil {
		j.row = compact(state, r.base)
		return putAside, now, min(now, farOff) + min(int64(delay), farOff)
	}
	r.over(ctx, o.attempts, seen, end)
	if r.DeadLetter == nil {
		o.err = end
	} else {
		o.dead = deadLetter(err, end, state, at)
	}
	return finished, now, 0
}

// farOff is a time that never comes, with room for sums.
const farOff = math.MaxInt64 / 4

// attempt calls f as retry.Do would.
func (r *mapRun[T, U]) attempt(ctx context.Context, o *outcome[T, U], seen *observation) (value U, lasted time.Duration, err error) {
	if o.attempts > 1 {
		ctx = attempt.With(ctx, o.attempts)
	}
	ctx, cancel := r.policy.AttemptContext(ctx)
	defer cancel()
	if !r.timed {
		value, err = r.f(ctx, o.item)
		return value, 0, err
	}
	began := r.clock.Now()
	if o.attempts == 1 {
		seen.began = began
	}
	value, err = r.f(ctx, o.item)
	return value, r.clock.Now().Sub(began), err
}

// settle books what a call has come to.
func (r *mapRun[T, U]) settle(v verdict, j *job[T], o *outcome[T, U], now, due int64) {
	r.calls--
	switch v {
	case putAside:
		if r.fired != nil {
			if fires := r.signalled(); uint32(fires) != j.row.fires {
				j.row.restart(fires)
				due = now
			}
		}
		r.waiting.add(j, due)
	case abandoned:
		r.left = append(r.left, *o)
	case finished:
		if o.err != nil {
			if r.Ordered {
				r.last = min(r.last, o.seq)
			} else {
				r.last = -1
			}
		}
		r.out.put(o)
	}
	r.admit()
	r.tell()
}

// next finds the next item to call, waiting for it if need be; now is the time, if it is known. It reports false when
// there is nothing more to do.
func (r *mapRun[T, U]) next(j *job[T], now int64) bool {
	for !r.closed {
		if now == noTime && r.waiting.len() > 0 {
			r.mu.Unlock()
			now = r.now()
			r.mu.Lock()
			continue
		}
		r.heed(now)
		if r.choose(j, now) {
			r.calls++
			if r.watching > 0 {
				r.setTimer(now)
			}
			if !r.closed {
				r.delegate(now) // after the lock was let go of: an item that came to be due meanwhile counts
			}
			return true
		}
		if !r.setTimer(now) {
			r.park()
		}
		now = noTime
	}
	return false
}

// choose takes the next item to call: one that is due, else a fresh one.
func (r *mapRun[T, U]) choose(j *job[T], now int64) bool {
	if r.full() {
		return false
	}
	for r.waiting.len() > 0 && r.waiting.due() <= now {
		if r.waiting.take(j); j.seq <= r.last {
			return true
		}
		r.left = append(r.left, outcome[T, U]{seq: j.seq, item: j.item, attempts: int(j.row.attempts)})
	}
	if r.callsFresh() {
		*j = job[T]{item: r.fresh.pop(), seq: r.called}
		r.called++
		r.admit()
		return true
	}
	return false
}

// vacant reports whether the result of one more call has a place.
func (r *mapRun[T, U]) vacant() bool {
	return r.calls+len(r.out.ready)+int(r.batch.Load()) < r.slack
}

// full reports that it has none. Then the consumer wakes a worker when it has made a place: it may do so without the
// lock, between the look at its batch and the note that somebody waits, so another look is needed.
func (r *mapRun[T, U]) full() bool {
	if r.vacant() {
		return false
	}
	r.stalled.Store(true)
	return !r.vacant()
}

func (r *mapRun[T, U]) callsFresh() bool { return r.fresh.len() > 0 && r.called <= r.last }

// delegate has another worker take what there is to do besides, if there is any; now is the time, if it is known. That
// worker delegates in its turn, so that a thousand items that are due have all the workers at it.
func (r *mapRun[T, U]) delegate(now int64) {
	jobs, waits := 0, r.waiting.len() > 0
	if r.callsFresh() {
		jobs = r.fresh.len()
	}
	if waits && r.waiting.due() <= now {
		jobs++
	}
	switch {
	case jobs > r.coming:
		if !r.full() {
			r.wakeWorker()
		}
	case jobs == 0 && waits && r.watching == 0 && r.coming == 0:
		r.wakeWorker() // somebody has to watch the timer
	}
}

// wakeWorker wakes a worker that waits, or else starts one if there may be more.
func (r *mapRun[T, U]) wakeWorker() {
	switch {
	case r.parked > r.tokens:
		r.tokens++
		r.work <- struct{}{}
	case r.workers < r.Workers:
		r.workers++
		r.all.Add(1)
		go r.runWorker()
	default:
		return
	}
	r.coming++
}

// setTimer sets the timer for the item that is due first, unless it is set already or being set, or the item is due by
// the time it is given. It reports whether it has let go of the lock.
func (r *mapRun[T, U]) setTimer(now int64) (released bool) {
	for !r.arming && r.waiting.len() > 0 {
		due := r.waiting.due()
		if due <= now || r.armed != noTime && r.armed <= due {
			break
		}
		// What armed says is said before the timer is set, so that a tick, which says that it is no longer so, comes later.
		r.arming, r.armed, released = true, due, true
		r.mu.Unlock()
		r.timer.set(r.base, due)
		r.mu.Lock()
		r.arming = false
	}
	return released
}

// park waits for a token, and for the timer and the signals if anything waits for these.
func (r *mapRun[T, U]) park() {
	r.parked++
	if r.waiting.len() == 0 {
		r.mu.Unlock()
		<-r.work
		r.mu.Lock()
		r.tokens--
		r.coming--
	} else {
		r.watching++
		r.mu.Unlock()
		var token, tick bool
		select {
		case <-r.work:
			token = true
		case <-r.timer.C:
			tick = true
		case <-r.fired:
		}
		r.mu.Lock()
		r.watching--
		if !token {
			// A token that came meanwhile is taken too: there may be nobody else who waits for it, and as long as it is
			// there somebody is thought to be coming.
			select {
			case <-r.work:
				token = true
			default:
			}
		}
		if token {
			r.tokens--
			r.coming--
		}
		if tick {
			r.armed = noTime
		}
	}
	r.parked--
}

// signalled returns how often the policy's signals have fired.
func (r *mapRun[T, U]) signalled() uint64 {
	if r.fired == nil {
		return 0
	}
	return r.policy.Fires()
}

// heed ends the waits that a signal has ended.
func (r *mapRun[T, U]) heed(now int64) {
	if r.fired == nil || r.waiting.len() == 0 {
		return
	}
	if fires := r.signalled(); fires != r.fires {
		r.fires = fires
		r.waiting.restart(fires, now)
	}
}

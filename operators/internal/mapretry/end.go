package mapretry

import (
	"slices"

	"github.com/retrywhen/retrywhen/retry"
)

// shutDown stops everything, waits for it, and reports the unfinished items. The item that ended the stream with its
// error counts as finished, unless a crash hides the error.
func (r *run[T, U]) shutDown() {
	r.mu.Lock()
	r.closed = true
	close(r.work)
	close(r.room)
	r.mu.Unlock()
	r.cancel()
	r.goroutines.Wait()
	r.timer.stop()
	r.engine.Stop(r.fired)
	if r.crash == nil && !r.engine.Plain {
		r.finishUnfinished()
	}
	if r.OnAbandon == nil {
		return
	}
	if r.fatal != nil && r.crash != nil {
		r.OnAbandon(r.fatal.item, r.fatal.attempts)
	}
	for _, v := range slices.Concat(r.rest, r.scheduler.results.rest()) {
		r.OnAbandon(v.item, v.attempts)
	}
	for _, it := range r.scheduler.notFinished() {
		r.OnAbandon(it.value, int(it.attempts))
	}
	for _, v := range r.scheduler.fresh.all() {
		r.OnAbandon(v, 0)
	}
}

// finishUnfinished ends the operations of the items that were called and not finished.
func (r *run[T, U]) finishUnfinished() {
	for _, it := range r.scheduler.notFinished() {
		if it.attempts == 0 {
			continue
		}
		op := r.policy.Continue(r.contextOf(it), it.state, it.last)
		end := it.last
		if !it.cutOff {
			end = op.Cancelled()
		}
		_ = op.Done(retry.Outcome{Err: end})
	}
}

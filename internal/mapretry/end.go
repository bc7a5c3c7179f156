package mapretry

// end stops everything, waits for it, and reports the unfinished items. The item that ended the stream with its error
// counts as finished, unless a crash hides the error.
func (r *run[T, U]) end() {
	r.mu.Lock()
	r.closed = true
	close(r.work)
	close(r.room)
	r.mu.Unlock()
	r.cancel()
	r.goroutines.Wait()
	r.timer.stop()
	if r.unwatch != nil {
		r.unwatch()
	}
	if r.observed && r.crash == nil {
		r.finishUnfinished()
	}
	if r.OnAbandon == nil {
		return
	}
	if r.last != nil && r.crash != nil {
		r.OnAbandon(r.last.item, r.last.calls)
	}
	for i := range r.rest {
		r.OnAbandon(r.rest[i].item, r.rest[i].calls)
	}
	for v := range r.scheduler.results.all {
		r.OnAbandon(v.item, v.calls)
	}
	for it := range r.scheduler.notFinished {
		r.OnAbandon(it.value, it.calls)
	}
	for v := range r.scheduler.fresh.all {
		r.OnAbandon(v, 0)
	}
}

// finishUnfinished calls OnDone for the items that were called and not finished.
func (r *run[T, U]) finishUnfinished() {
	for it := range r.scheduler.notFinished {
		if it.calls == 0 {
			continue
		}
		ctx := r.ctx
		if r.Context != nil {
			ctx = r.Context(ctx, it.value)
		}
		r.over(ctx, it, it.cancelled(r.ctx, r.clock.Now()))
	}
}

package mapretry

import "time"

// runWorker makes one call after the other.
func (r *run[T, U]) runWorker() {
	var w worker[T]
	defer func() {
		if w.busy { // the call did not return
			r.lock()
			r.scheduler.abandon(&w)
			r.mu.Unlock()
		}
	}()
	var c called[T, U]
	now := unknown
	r.lock()
	r.scheduler.arrive()
	for r.next(&w, now) {
		r.unlock()
		r.call(w.item, &c)
		r.lock()
		r.settle(&w, &c)
		now = c.at
	}
	r.unlock()
}

// settle reports the result of a call to the scheduler.
func (r *run[T, U]) settle(w *worker[T], c *called[T, U]) {
	switch c.as {
	case finished:
		r.scheduler.finish(w, &c.result)
	case putAside:
		r.scheduler.wait(w, c.at, c.due, c.fires, r.engine.Fires())
	case abandoned:
		r.scheduler.abandon(w)
	}
}

// next waits until there is an item for the worker to call. now is the time, if it is known. It returns false when the
// run is over. It is called with the lock, which it releases in between.
func (r *run[T, U]) next(w *worker[T], now time.Duration) bool {
	for !r.closed {
		if now == unknown && len(r.scheduler.waiting) > 0 {
			r.unlock()
			now = r.now()
			r.lock()
		}
		if now != unknown {
			r.scheduler.signal(r.engine.Fires(), now)
		}
		switch step, due := r.scheduler.next(w, now); step {
		case makeCall:
			return true
		case setTimer:
			r.unlock()
			r.timer.set(due)
			r.lock()
			r.scheduler.timerIsSet()
		case idle:
			r.unlock()
			<-r.work
			r.lock()
			r.scheduler.arrive()
		case watch:
			r.watch()
		}
		if !w.busy {
			now = unknown
		}
	}
	return w.busy
}

// watch waits until the worker is woken, the timer ticks or a signal fires.
func (r *run[T, U]) watch() {
	r.unlock()
	woken, ticked := false, false
	select {
	case <-r.work:
		woken = true
	case <-r.timer.C:
		ticked = true
	case <-r.fired:
	}
	r.lock()
	if !woken {
		// A wake-up that has come meanwhile must be taken: there may be no other worker to take it.
		select {
		case <-r.work:
			woken = true
		default:
		}
	}
	r.scheduler.stopWatching(woken)
	if ticked {
		r.scheduler.tick()
	}
}

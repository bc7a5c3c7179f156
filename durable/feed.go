package durable

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// ahead is how much work a feed fetches ahead. mostAhead is the maximum number of these jobs, aheadBytes about the
	// maximum of their bytes.
	ahead      = 200 * time.Millisecond
	mostAhead  = 1024
	aheadBytes = 8 << 20
	// idleTime is how long a job that was fetched ahead may wait for a worker before it is handed back.
	idleTime = 500 * time.Millisecond
	// freshShare is the number of consecutive attempts of which at least one is of a fresh job, however many retries are
	// due.
	freshShare = 4
	// patience is how long Work waits for handlers whose contexts have ended. settleTime is how long a feed still tries to
	// store outcomes then.
	patience   = 5 * time.Second
	settleTime = 5 * time.Second
)

// feed fetches jobs from the server for the workers of one Work or the consumer of one Jobs.
//
// It estimates from the duration of past attempts how many jobs its workers need in the next moment, and requests that
// many. So quick handlers do not wait for the server, and slow handlers do not keep jobs from other processes. Each
// request is a Consume that ends when as many jobs have come. The leases of these jobs are extended while they wait.
type feed struct {
	a       *attempts
	workers int
	ctx     context.Context // for storing outcomes: ends Config.Grace, patience and settleTime after the feed
	cancel  context.CancelFunc
	ended   chan struct{} // closed when nothing of the feed is running
	pumps   [2]*pump      // of due retries, and of fresh jobs

	settling sync.WaitGroup // successes that are being stored
	slots    chan struct{}  // limits how many of them there are

	mu       sync.Mutex
	work     sync.Cond              // signals a job or the end
	room     sync.Cond              // signals room for more jobs or the end
	running  int                    // workers that have a job
	jobs     map[*Job]struct{}      // that handlers have
	retries  int                    // consecutive retries taken
	waiting  map[*delivery]struct{} // until they are due
	average  time.Duration          // of an attempt; negative if unknown
	stopped  bool
	stopping chan struct{} // closed when stopped
	cause    error
}

func newFeed(a *attempts, workers int) *feed {
	f := &feed{a: a, workers: workers, ended: make(chan struct{}), stopping: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(a.ctx)
	f.slots = make(chan struct{}, ackWindow)
	f.work.L, f.room.L = &f.mu, &f.mu
	f.average, f.jobs, f.waiting = -1, make(map[*Job]struct{}), make(map[*delivery]struct{})
	for i, s := range []stage{again, first} {
		f.pumps[i] = &pump{feed: f, consumer: a.consumer(s), enough: make(chan struct{}, 1)}
	}
	return f
}

// close stops the feed. cause is nil if ctx has ended or the consumer has stopped. Only the first call counts.
func (f *feed) close(cause error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	f.stopped, f.cause = true, cause
	close(f.stopping)
	f.work.Broadcast()
	f.room.Broadcast()
	time.AfterFunc(f.a.config.Grace+patience+settleTime, f.cancel)
}

func (f *feed) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cause
}

// run runs the pumps until the end.
func (f *feed) run() {
	var both sync.WaitGroup
	for _, p := range f.pumps {
		both.Go(p.run)
	}
	both.Wait()
}

// take waits for a job. It returns nil at the end. After each job release must be called.
func (f *feed) take() *delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.stopped {
		if d := f.next(); d != nil {
			f.running++
			if f.running == f.workers && f.more() == 0 {
				for _, p := range f.pumps {
					p.pause()
				}
			}
			return d
		}
		f.work.Wait()
	}
	return nil
}

// next returns the next job, nil if none is ready. Due retries come first, except for the share of the fresh jobs.
func (f *feed) next() *delivery {
	due, fresh := f.pumps[0], f.pumps[1]
	if len(due.ready) > 0 && (f.retries < freshShare-1 || len(fresh.ready) == 0) {
		f.retries++
		return due.pop()
	}
	f.retries = 0
	if len(fresh.ready) > 0 {
		return fresh.pop()
	}
	return nil
}

// release marks a worker as free again after a job that took lasted. The average rises to a longer duration at once and
// falls slowly, so that jobs fetched ahead do not wait behind slow ones.
func (f *feed) release(lasted time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	if f.average < lasted {
		f.average = lasted
	} else {
		f.average = (7*f.average + lasted) / 8
	}
	f.room.Broadcast()
}

// more returns how many jobs to fetch ahead.
func (f *feed) more() int {
	switch {
	case f.average < 0:
		return 0 // nothing is known yet
	case f.average == 0:
		return mostAhead
	}
	return min(min(int(ahead/f.average), mostAhead)*f.workers, mostAhead)
}

// wanted returns how many jobs the pump should request now.
func (f *feed) wanted(p *pump) int {
	more, ready, bytes := f.more(), 0, 0
	for _, p := range f.pumps {
		ready, bytes = ready+len(p.ready), bytes+p.bytes
	}
	if free := f.workers - f.running - ready; bytes >= aheadBytes {
		return max(free, 0)
	}
	// The pumps share the workers, but each fetches ahead for itself.
	other := ready - len(p.ready)
	n := f.workers + more - f.running - len(p.ready) - min(other, max(f.workers-f.running, 0))
	if more > 0 && n < (f.workers+more)/2 {
		return 0 // fewer and larger requests are cheaper
	}
	return max(n, 0)
}

// push makes a job ready for the workers.
func (f *feed) push(d *delivery) {
	p := f.pumps[1]
	if d.stage == again || d.held {
		p = f.pumps[0]
	}
	p.push(d)
	f.work.Signal()
}

// hasIdle reports whether a job has been ready since before the given time while all workers are busy. If so, it raises
// the average, so that no jobs are fetched ahead for the moment.
func (f *feed) hasIdle(before time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.running < f.workers {
		return false
	}
	for _, p := range f.pumps {
		if slices.ContainsFunc(p.ready, func(d *delivery) bool { return d.idle(before) }) {
			f.average = max(f.average, time.Second)
			return true
		}
	}
	return false
}

// handBackIdle hands back all jobs that no worker has begun. It ends the requests first: otherwise the server would
// deliver the jobs to this process again at once, and count each delivery.
func (f *feed) handBackIdle(before time.Time) {
	for _, p := range f.pumps {
		p.drain()
	}
	f.mu.Lock()
	if f.stopped {
		f.mu.Unlock()
		return
	}
	var idle []*delivery
	for _, p := range f.pumps {
		idle = append(idle, p.takeAll()...)
	}
	f.mu.Unlock()
	f.handBackAll(idle)
}

// finish hands back all jobs that no worker has. The pumps must have ended.
func (f *feed) finish() {
	f.mu.Lock()
	all := slices.Collect(maps.Keys(f.waiting))
	clear(f.waiting)
	for _, p := range f.pumps {
		all = append(all, p.takeAll()...)
	}
	f.mu.Unlock()
	f.handBackAll(all)
}

// handBackAll returns the jobs to the server. Jobs that were attempted and wait here keep their retry state and their
// due time.
func (f *feed) handBackAll(all []*delivery) {
	var each sync.WaitGroup
	atOnce := make(chan struct{}, 16)
	for _, d := range all {
		if !d.held {
			f.a.handBack(f.ctx, d, 0)
			continue
		}
		atOnce <- struct{}{}
		each.Go(func() {
			f.a.reschedule(f.ctx, d) // if it fails, it has logged that and handed the job back
			<-atOnce
		})
	}
	each.Wait()
}

// hold keeps the job until it is due, at most for short: the due time is the server's, and a clock that was set
// meanwhile must hold nothing up. It returns false if the feed has stopped or there is no room.
func (f *feed) hold(d *delivery) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || len(f.waiting) >= maxHeld {
		return false
	}
	wait := min(f.a.until(d.state.due), short)
	d.ready = time.Now().Add(wait)
	f.waiting[d] = struct{}{}
	time.AfterFunc(wait, func() { f.due(d) })
	return true
}

// due makes a job ready whose due time has come, unless finish has handed it back.
func (f *feed) due(d *delivery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, waits := f.waiting[d]; waits {
		delete(f.waiting, d)
		f.push(d)
	}
}

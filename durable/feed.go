package durable

import (
	"context"
	"slices"
	"sync"
	"time"
)

const (
	// ahead is how much work a feed fetches ahead, mostAhead how many jobs that may be, and aheadBytes about how many
	// bytes.
	ahead      = 200 * time.Millisecond
	mostAhead  = 1024
	aheadBytes = 8 << 20
	// idleTime is how long a job that was fetched ahead may wait for a worker before it is handed back.
	idleTime = 500 * time.Millisecond
	// freshShare is the number of attempts in a row of which at least one is of a fresh job, however many retries are due.
	freshShare = 4
	// settleTime is how long after its end a feed still tries to report outcomes.
	settleTime = 10 * time.Second
)

// feed brings jobs from the server to the workers of one Work or the consumer of one Jobs.
//
// It asks for as many jobs as its workers are likely to need in the next moment, by the time that attempts have taken
// so far, so that quick handlers never wait for the server and slow ones keep no job from other processes. Each time it
// asks by a Consume that ends when as many have come. All that have come are leased from then on, wherever they wait.
type feed struct {
	q       *Queue
	workers int
	ctx     context.Context // for reporting outcomes: ends settleTime after the feed
	cancel  context.CancelFunc
	ended   chan struct{} // closed when nothing of the feed runs any more
	pumps   [2]*pump      // of due retries, and of fresh jobs

	settling sync.WaitGroup // successes that are being stored
	slots    chan struct{}  // for each of them

	mu       sync.Mutex
	work     sync.Cond // there is a job, or the end
	room     sync.Cond // there is room for more jobs, or the end
	running  int
	retries  int // taken in a row
	waiting  waiting
	timer    *time.Timer // for the first that waits
	average  time.Duration
	stopped  bool
	stopping chan struct{} // closed when stopped
	cause    error
}

func newFeed(q *Queue, workers int) *feed {
	f := &feed{q: q, workers: workers, ended: make(chan struct{}), stopping: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(q.ctx)
	f.slots = make(chan struct{}, ackWindow)
	f.work.L, f.room.L = &f.mu, &f.mu
	f.average = -1
	for i, s := range []stage{again, first} {
		f.pumps[i] = &pump{feed: f, consumer: q.consumer(s), enough: make(chan struct{}, 1)}
	}
	return f
}

// close ends the feed: cause is nil if its user wants it. Only the first call counts.
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
	if f.timer != nil {
		f.timer.Stop()
	}
	time.AfterFunc(settleTime, f.cancel)
}

// end is called when nothing of the feed runs any more; a consumer of Jobs may be reporting still.
func (f *feed) end() {
	f.close(nil)
	close(f.ended)
}

func (f *feed) err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.cause
}

// run pumps until the end.
func (f *feed) run() {
	var both sync.WaitGroup
	for _, p := range f.pumps {
		both.Go(p.run)
	}
	both.Wait()
}

// take waits for a job; nil is the end. release must follow.
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

// next returns the job whose turn it is: a due retry, or a fresh one if there is none or it has its share.
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

// release says that a worker is free again, and how long the job took it. The average follows a job that takes longer
// at once, and quicker ones slowly: what is fetched ahead must not stand behind a slow job.
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

// more returns how many jobs to have ahead of the workers.
func (f *feed) more() int {
	switch {
	case f.average < 0:
		return 0 // nothing is known yet
	case f.average == 0:
		return mostAhead
	}
	return min(min(int(ahead/f.average), mostAhead)*f.workers, mostAhead)
}

// wanted returns how many jobs a pump is to ask for now.
func (f *feed) wanted(p *pump) int {
	more, ready, bytes := f.more(), 0, 0
	for _, p := range f.pumps {
		ready, bytes = ready+len(p.ready), bytes+p.bytes
	}
	if free := f.workers - f.running - ready; bytes >= aheadBytes {
		return max(free, 0)
	}
	// What the other pump has fetched ahead is no reason not to fetch here: only the workers are shared.
	other := ready - len(p.ready)
	n := f.workers + more - f.running - len(p.ready) - min(other, max(f.workers-f.running, 0))
	if more > 0 && n < (f.workers+more)/2 {
		return 0 // many at a time are cheaper
	}
	return max(n, 0)
}

// push gives a job to the workers.
func (f *feed) push(d *delivery) {
	p := f.pumps[1]
	if d.stage == again || d.held {
		p = f.pumps[0]
	}
	p.push(d)
	f.work.Signal()
}

// hasIdle reports whether something came before the given time that no worker has begun, while all are busy. It has
// nothing fetched ahead then, for now.
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

// giveIdleAway gives away all that no worker has begun. What the server still sends is taken in first: it would come
// straight back here, and each time count as a delivery.
func (f *feed) giveIdleAway(before time.Time) {
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
	f.giveAway(idle)
}

// idle reports whether the delivery could have been attempted since the given time.
func (d *delivery) idle(before time.Time) bool {
	if d.held {
		return d.state.due.Before(before)
	}
	return d.received.Before(before)
}

// finish gives away all jobs that no worker has. The pumps have ended.
func (f *feed) finish() {
	f.mu.Lock()
	all := []*delivery(f.waiting)
	f.waiting = nil
	for _, p := range f.pumps {
		all = append(all, p.takeAll()...)
	}
	f.mu.Unlock()
	f.giveAway(all)
}

// giveAway returns the jobs to the server: those that were attempted here with their count and their wait.
func (f *feed) giveAway(all []*delivery) {
	var each sync.WaitGroup
	turn := make(chan struct{}, 16)
	for _, d := range all {
		if !d.held {
			f.q.handBack(f.ctx, d, 0)
			continue
		}
		turn <- struct{}{}
		each.Go(func() {
			f.q.reschedule(f.ctx, d) // or hands it back, and has told the Logger
			<-turn
		})
	}
	each.Wait()
}

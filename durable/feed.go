package durable

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// ahead is how much work a feed fetches ahead, and mostAhead how many jobs that may be.
	ahead     = 200 * time.Millisecond
	mostAhead = 1024
	// settleTime is how long after its end a feed still tries to report outcomes.
	settleTime = 10 * time.Second
)

// feed brings jobs from the server to the workers of one Work or the consumer of one Jobs.
//
// It asks for as many jobs as its workers are likely to need in the next moment, by the time that attempts have taken
// so far, so that quick handlers never wait for the server and slow ones keep no job from other processes. Each time
// it asks by a Consume that ends when as many have come. All that have come are leased from then on, wherever they wait.
type feed struct {
	q       *Queue
	workers int
	ctx     context.Context // for reporting outcomes: ends settleTime after the feed
	cancel  context.CancelFunc
	ended   chan struct{} // closed when nothing of the feed runs any more

	mu       sync.Mutex
	work     sync.Cond // there is a job, or the end
	room     sync.Cond // there is room for more jobs, or the end
	ready    []*delivery
	running  int
	waiting  waiting
	timer    *time.Timer // for the first that waits
	average  time.Duration
	stopped  bool
	stopping chan struct{} // closed when stopped
	cause    error

	consuming jetstream.ConsumeContext // the last
}

func newFeed(q *Queue, workers int) *feed {
	f := &feed{q: q, workers: workers, ended: make(chan struct{}), stopping: make(chan struct{})}
	f.ctx, f.cancel = context.WithCancel(q.ctx)
	f.work.L, f.room.L = &f.mu, &f.mu
	f.average = -1
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

// take waits for a job; nil is the end. release must follow.
func (f *feed) take() *delivery {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.ready) == 0 && !f.stopped {
		f.work.Wait()
	}
	if f.stopped {
		return nil
	}
	d := f.ready[0]
	f.ready[0] = nil
	f.ready = f.ready[1:]
	f.running++
	return d
}

// release says that a worker is free again, and how long the job took it.
func (f *feed) release(lasted time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
	if f.average < 0 {
		f.average = lasted
	} else {
		f.average = (7*f.average + lasted) / 8
	}
	if f.wanted() > 0 {
		f.room.Signal()
	}
}

// wanted returns how many jobs to ask for now.
func (f *feed) wanted() int {
	more := f.workers // nothing is known yet
	switch {
	case f.average > 0:
		more = min(min(int(ahead/f.average), mostAhead)*f.workers, mostAhead)
	case f.average == 0:
		more = mostAhead
	}
	n := f.workers + more - f.running - len(f.ready)
	if more > 0 && n < (f.workers+more)/2 {
		return 0 // many at a time are cheaper
	}
	return max(n, 0)
}

// push gives a job to the workers.
func (f *feed) push(d *delivery) {
	f.ready = append(f.ready, d)
	f.work.Signal()
}

// hasIdle reports whether something came before the given time that no worker has begun, while all are busy. It has
// nothing fetched ahead then, for now.
func (f *feed) hasIdle(before time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.running < f.workers || !slices.ContainsFunc(f.ready, func(d *delivery) bool { return d.idle(before) }) {
		return false
	}
	f.average = max(f.average, f.q.config.Lease)
	return true
}

// giveIdleAway gives away what hasIdle has found. What the server still sends is taken in first: it would come straight
// back here, and each time count as a delivery that was not settled.
func (f *feed) giveIdleAway(before time.Time) {
	f.mu.Lock()
	consuming := f.consuming
	f.mu.Unlock()
	if consuming != nil {
		drained := consuming.Closed()
		consuming.Drain()
		f.awaitDrained(drained, time.After(settleTime))
	}
	f.mu.Lock()
	if f.stopped {
		f.mu.Unlock()
		return
	}
	var idle []*delivery
	f.ready = slices.DeleteFunc(f.ready, func(d *delivery) bool {
		if d.idle(before) {
			idle = append(idle, d)
		}
		return d.idle(before)
	})
	f.mu.Unlock()
	f.giveAway(idle)
}

// idle reports whether the delivery could have been attempted since the given time.
func (d *delivery) idle(before time.Time) bool {
	if d.attempted() {
		return d.state.due.Before(before)
	}
	return d.received.Before(before)
}

// attempted reports whether the delivery has been attempted in this process, and is held for another attempt.
func (d *delivery) attempted() bool { return d.state.from == d.seq }

// finish gives away all jobs that no worker has. The pump has ended.
func (f *feed) finish() {
	f.mu.Lock()
	ready, waiting := f.ready, f.waiting
	f.ready, f.waiting = nil, nil
	f.mu.Unlock()
	f.giveAway(append(ready, waiting...))
}

// giveAway returns the jobs to the server: those that were attempted here with their count and their wait.
func (f *feed) giveAway(all []*delivery) {
	for _, d := range all {
		if d.attempted() && f.q.reschedule(f.ctx, d) == nil {
			continue
		}
		f.q.handBack(d, 0)
	}
}

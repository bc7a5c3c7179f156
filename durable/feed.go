package durable

import (
	"container/heap"
	"context"
	"errors"
	"slices"
	"strings"
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
	patience *time.Timer   // cancels ctx, once stopped
	cause    error
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
	f.patience = time.AfterFunc(settleTime, f.cancel)
}

// end is called when nothing of the feed runs any more.
func (f *feed) end() {
	f.close(nil)
	f.patience.Stop()
	f.cancel()
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
		more = min(int(ahead/f.average)*f.workers, mostAhead)
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

// hold keeps the job until it is due. It reports false if that is not possible any more.
func (f *feed) hold(d *delivery) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || len(f.waiting) >= maxHeld {
		return false
	}
	wait := time.Until(d.state.due)
	if wait <= 0 {
		f.push(d)
		return true
	}
	heap.Push(&f.waiting, d)
	if f.waiting[0] == d {
		if f.timer == nil {
			f.timer = time.AfterFunc(wait, f.due)
		} else {
			f.timer.Reset(wait)
		}
	}
	return true
}

// due gives the workers what has waited long enough.
func (f *feed) due() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped {
		return
	}
	for len(f.waiting) > 0 {
		if wait := time.Until(f.waiting[0].state.due); wait > 0 {
			f.timer.Reset(wait)
			return
		}
		f.push(heap.Pop(&f.waiting).(*delivery))
	}
}

// takeIdle takes away what came before the given time and no worker has begun, while all are busy.
func (f *feed) takeIdle(before time.Time) (idle []*delivery) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.stopped || f.running < f.workers {
		return nil
	}
	kept := f.ready[:0]
	for _, d := range f.ready {
		// What has been attempted here, and has waited, is not given away: its count would be lost.
		if d.received.Before(before) && !d.attempted() {
			idle = append(idle, d)
		} else {
			kept = append(kept, d)
		}
	}
	clear(f.ready[len(kept):])
	f.ready = kept
	if len(idle) > 0 {
		f.average = max(f.average, f.q.config.Lease) // fetch nothing ahead for now
	}
	return idle
}

// attempted reports whether the delivery has been attempted in this process, and is held for another attempt.
func (d *delivery) attempted() bool { return d.state.from == d.seq }

// pump asks the server for jobs until the end, and returns when the last has come.
func (f *feed) pump() {
	var drained []<-chan struct{} // of the Consumes before
	defer func() {
		timeout := time.After(settleTime) // the connection may be gone
		for _, c := range drained {
			select {
			case <-c:
			case <-timeout:
				return
			}
		}
	}()
	for {
		n := f.waitForRoom()
		if n == 0 {
			return
		}
		c, err := f.consume(n)
		if err != nil {
			f.close(explain("work", err))
			return
		}
		drained = slices.DeleteFunc(drained, func(c <-chan struct{}) bool {
			select {
			case <-c:
				return true
			default:
				return false
			}
		})
		drained = append(drained, c)
	}
}

func (f *feed) waitForRoom() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.stopped {
		if n := f.wanted(); n > 0 {
			return n
		}
		f.room.Wait()
	}
	return 0
}

// consume receives n jobs, or those that come until the end. The channel is closed when no more can come: it takes the
// client a moment to be sure of that, for which the next Consume need not wait.
func (f *feed) consume(n int) (drained <-chan struct{}, err error) {
	var (
		consuming jetstream.ConsumeContext
		started   = make(chan struct{})
		full      = make(chan struct{})
		trouble   = make(chan error, 1)
		received  int
	)
	consuming, err = f.q.consumer.Consume(func(m jetstream.Msg) {
		f.receive(m)
		if received++; received == n {
			// Drain, where StopAfter alone would stop: what a server sends too many after a reconnection is not dropped.
			<-started
			consuming.Drain()
			close(full)
		}
	}, jetstream.PullMaxMessages(n), jetstream.StopAfter(n),
		jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(2500*time.Millisecond),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			select {
			case trouble <- err:
			default:
			}
		}))
	if err != nil {
		return nil, err
	}
	close(started)
	drained = consuming.Closed()
	for {
		select {
		case <-full:
			return drained, nil
		case err := <-trouble:
			if err := f.fatal(err); err != nil {
				consuming.Stop()
				return nil, err
			}
		case <-drained: // it has ended by itself
			select {
			case err := <-trouble:
				return drained, f.fatal(err)
			default:
				return drained, nil
			}
		case <-f.stopping:
			consuming.Drain()
			return drained, nil
		}
	}
}

// fatal returns the error if there is no use in asking on: what is consumed from does not exist any more. From
// everything else a Consume recovers by itself.
func (f *feed) fatal(err error) error {
	if errors.Is(err, jetstream.ErrConnectionClosed) || errors.Is(err, jetstream.ErrConsumerDeleted) ||
		errors.Is(err, jetstream.ErrBadRequest) {
		return err
	}
	f.q.config.Logger.Debug("fetching jobs", "queue", f.q.config.Name, "error", err)
	if !f.q.nc.IsConnected() {
		return nil
	}
	ctx, cancel := context.WithTimeout(f.ctx, 5*time.Second)
	defer cancel()
	_, err = f.q.consumer.Info(ctx)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return nil
}

// receive takes in what the server has sent.
func (f *feed) receive(m jetstream.Msg) {
	meta, err := m.Metadata()
	if err != nil { // not a message of JetStream's
		f.q.config.Logger.Warn("a message that is no job", "queue", f.q.config.Name, "subject", m.Subject(), "error", err)
		return
	}
	d := &delivery{msg: m, seq: meta.Sequence.Stream, deliveries: meta.NumDelivered, feed: f, received: time.Now()}
	d.state = readState(m.Headers())
	d.again = strings.HasPrefix(m.Subject()[len("retrywhen.")+len(f.q.config.Name):], ".run.again.")
	if d.state.id == "" { // published by hand
		d.state.id = meta.Stream + "-" + formatTime(meta.Timestamp)
	}
	if d.state.put.IsZero() {
		d.state.put = meta.Timestamp
	}
	if d.state.row.Attempts > 0 {
		d.state.row.Fires = f.q.config.Policy.Fires()
	}
	f.q.leases.add(d)
	if wait := d.state.due.Sub(d.received); wait > 0 {
		// The server has no schedules, or its clock is ahead of this one.
		if wait <= short && f.hold(d) {
			return
		}
		if f.q.leases.remove(d) {
			if err := m.NakWithDelay(wait); err != nil {
				f.q.config.Logger.Warn("an early job could not be given back", "queue", f.q.config.Name, "id", d.state.id, "error", err)
			}
		}
		return
	}
	f.mu.Lock()
	stopped := f.stopped
	if !stopped {
		f.push(d)
	}
	f.mu.Unlock()
	if stopped {
		f.q.handBack(d)
	}
}

// finish gives up all jobs that no worker has. The pump and the workers have ended.
func (f *feed) finish() {
	f.mu.Lock()
	ready, waiting := f.ready, f.waiting
	f.ready, f.waiting = nil, nil
	f.mu.Unlock()
	for _, d := range append(ready, waiting...) {
		if d.attempted() { // the server keeps the wait, and the count
			if err := f.q.reschedule(f.ctx, d); err == nil {
				continue
			}
		}
		f.q.handBack(d)
	}
}

// waiting is a heap of deliveries, the first due at its root.
type waiting []*delivery

func (w waiting) Len() int           { return len(w) }
func (w waiting) Less(i, j int) bool { return w[i].state.due.Before(w[j].state.due) }
func (w waiting) Swap(i, j int)      { w[i], w[j] = w[j], w[i] }
func (w *waiting) Push(d any)        { *w = append(*w, d.(*delivery)) }
func (w *waiting) Pop() any {
	s := *w
	d := s[len(s)-1]
	s[len(s)-1] = nil
	*w = s[:len(s)-1]
	return d
}

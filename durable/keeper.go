package durable

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// keeper keeps house: it extends the leases, compares the clocks, and knows the feeds.
type keeper struct {
	h       *holder
	mu      sync.Mutex
	feeds   map[*feed]struct{}
	closed  bool               // Close has been called
	cancels *nats.Subscription // of workers
	tasks   sync.WaitGroup
}

// join registers a feed, which Close then ends. It makes this process a worker, which learns of cancelled jobs.
func (k *keeper) join(f *feed) (err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closed {
		return ErrClosed
	}
	if k.cancels == nil {
		if k.cancels, err = k.h.nc.Subscribe(k.h.config.cancelSubject(), k.cancelled); err != nil {
			return err
		}
	}
	k.feeds[f] = struct{}{}
	return nil
}

// leave is called when nothing of the feed is running. A consumer of Jobs may still report jobs later.
func (k *keeper) leave(f *feed) {
	k.mu.Lock()
	delete(k.feeds, f)
	k.mu.Unlock()
	close(f.ended)
}

// keepLeases extends the leases of the jobs in this process until the queue is closed: four times per lease, and when
// the connection is back after an outage.
func (k *keeper) keepLeases() {
	ticker := time.NewTicker(time.Second / 8) // an eighth of the shortest lease
	defer ticker.Stop()
	connected := k.h.nc.StatusChanged(nats.CONNECTED)
	defer k.h.nc.RemoveStatusListener(connected)
	status := (<-chan nats.Status)(connected)
	extended := time.Now()
	extend := func(now time.Time) {
		extended = now
		k.tasks.Go(func() { k.readLease(); k.extendLeases(); k.lookAtAttempts() }) // each a quarter of a lease at most
	}
	for {
		select {
		case <-k.h.ctx.Done():
			return
		case <-ticker.C:
			now := time.Now()
			k.h.gaps.tick(now, k.h.lease())
			k.handBackIdle(now)
			if k.h.wasSet(now.Round(0).Sub(k.h.began)-now.Sub(k.h.began)) || now.Sub(extended) >= k.h.lease()/4 {
				extend(now)
			}
		case _, ok := <-status:
			if ok {
				extend(time.Now())
			} else { // the connection is closed
				status = nil
			}
		}
	}
}

// extendLeases extends the leases. They are known to be extended when the server has responded to a flush after that.
func (k *keeper) extendLeases() {
	now := time.Now()
	all := k.h.leases.find(func(d *delivery) bool { return d.received.Before(now) && !d.withdrawn })
	failed, last := 0, error(nil)
	for _, d := range all {
		err := d.msg.InProgress()
		switch {
		case errors.Is(err, nats.ErrReconnectBufExceeded):
			return
		case err != nil && !errors.Is(err, jetstream.ErrMsgAlreadyAckd):
			failed, last = failed+1, err
		}
	}
	if failed > 0 {
		k.h.config.Logger.Warn("leases could not be extended", "jobs", failed, "error", last)
		return
	}
	ctx, cancel := context.WithTimeout(k.h.ctx, k.h.lease()/4)
	defer cancel()
	if k.h.nc.IsConnected() && k.h.nc.FlushWithContext(ctx) == nil {
		heard := time.Now()
		k.h.gaps.responded(heard, k.h.lease())
		k.h.leases.extend(all, heard, now.Add(k.h.lease()))
	}
}

// handBackIdle makes the feeds hand back the jobs that were fetched ahead and wait here, so that other processes can
// get them.
func (k *keeper) handBackIdle(now time.Time) {
	before := now.Add(-idleTime)
	k.mu.Lock()
	defer k.mu.Unlock()
	for f := range k.feeds {
		if f.hasIdle(before) {
			k.tasks.Go(func() { f.handBackIdle(before) }) // the leases must be extended meanwhile
		}
	}
}

// readLease reads the lease from the consumer: a worker with an older, longer lease would extend its leases too rarely.
// It also reads the server's time.
func (k *keeper) readLease() {
	ctx, cancel := context.WithTimeout(k.h.ctx, k.h.lease()/4)
	defer cancel()
	sent := time.Now()
	info, err := k.h.first.Info(ctx)
	if err != nil {
		return
	}
	k.compareClocks(sent, time.Now(), info.TimeStamp)
	if now := announced(info.Config); now > 0 && now != k.h.lease() {
		k.h.config.Logger.Info("the lease of the queue has changed", "before", k.h.lease(), "lease", now)
		k.h.leaseTime.Store(int64(now))
	}
}

// compareClocks is called with the server's time of a response, and when the request was sent and the response came.
func (k *keeper) compareClocks(sent, came, server time.Time) {
	if server.IsZero() || came.Sub(sent) > minSkew {
		return
	}
	skew := server.Sub(k.h.began.Add(sent.Sub(k.h.began) + came.Sub(sent)/2))
	if skew.Abs() < minSkew {
		skew = 0
	}
	before := time.Duration(k.h.skew.Swap(int64(skew)))
	if skew.Abs() > k.h.lease() && before.Abs() <= k.h.lease() {
		k.h.config.Logger.Warn("the clocks of this machine and of the server differ by more than a lease: synchronize them",
			"ahead", -skew)
	}
}

// cancelled is called with the id of a job that was cancelled. It responds when no attempt at the job begins here.
func (k *keeper) cancelled(m *nats.Msg) {
	for _, d := range k.h.leases.find(func(d *delivery) bool { return d.id == string(m.Data) }) {
		if k.h.look(k.h.ctx, d) == nil {
			m.Respond(nil)
		}
	}
}

// lookAtAttempts looks whether the jobs of running attempts, and of those that wait until an attempt that runs alone is
// over, were cancelled, in case that nobody has asked.
func (k *keeper) lookAtAttempts() {
	before := time.Now().Add(-k.h.lease() / 16) // so that Cancel, which waits half a lease, has not returned
	ctx, cancel := context.WithTimeout(k.h.ctx, k.h.lease()/4)
	defer cancel()
	for _, d := range k.h.leases.find(func(d *delivery) bool { return d.stop != nil || !d.busy && d.received.Before(before) }) {
		if k.h.look(ctx, d) != nil {
			return
		}
	}
}

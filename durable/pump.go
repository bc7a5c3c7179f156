package durable

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// pump fetches the jobs of one stage for a feed.
type pump struct {
	feed     *feed
	consumer jetstream.Consumer
	enough   chan struct{} // has the Consume end that asks for jobs: all workers are busy, and for long

	// Under the feed's mutex:
	ready     []*delivery
	bytes     int                      // of what is ready
	consuming jetstream.ConsumeContext // the last
}

func (p *pump) push(d *delivery) {
	p.ready = append(p.ready, d)
	p.bytes += len(d.msg.Data())
}

func (p *pump) pop() *delivery {
	d := p.ready[0]
	p.ready[0] = nil
	p.ready = p.ready[1:]
	p.bytes -= len(d.msg.Data())
	return d
}

func (p *pump) takeAll() []*delivery {
	all := p.ready
	p.ready, p.bytes = nil, 0
	return all
}

// pause has the Consume end that is under way.
func (p *pump) pause() {
	select {
	case p.enough <- struct{}{}:
	default:
	}
}

// run asks the server for jobs until the end, and returns when the last has come.
func (p *pump) run() {
	f := p.feed
	var drained []<-chan struct{} // of the Consumes before
	defer func() {
		timeout := time.After(settleTime)
		for _, c := range drained {
			if !f.awaitDrained(c, timeout) {
				return
			}
		}
	}()
	for {
		n := p.waitForRoom()
		if n == 0 {
			return
		}
		c, err := p.consume(n)
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

// drain ends the Consume that is under way, and returns when what the server has sent has come.
func (p *pump) drain() {
	p.feed.mu.Lock()
	consuming := p.consuming
	p.feed.mu.Unlock()
	if consuming != nil {
		drained := consuming.Closed()
		consuming.Drain()
		p.feed.awaitDrained(drained, time.After(settleTime))
	}
}

// awaitDrained waits until nothing more can come from a Consume that drains. It reports false if there is no use in
// waiting: without a connection nothing comes, and nothing says so.
func (f *feed) awaitDrained(drained <-chan struct{}, timeout <-chan time.Time) bool {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for f.q.nc.IsConnected() {
		select {
		case <-drained:
			return true
		case <-timeout:
			return false
		case <-look.C:
		}
	}
	return false
}

func (p *pump) waitForRoom() int {
	f := p.feed
	f.mu.Lock()
	defer f.mu.Unlock()
	for !f.stopped {
		if n := f.wanted(p); n > 0 {
			select {
			case <-p.enough: // of the Consume before
			default:
			}
			return n
		}
		f.room.Wait()
	}
	return 0
}

// consume receives n jobs, or as many as have aheadBytes, or those that come until the end. The channel is closed when
// no more can come: it takes the client a moment to be sure of that, for which the next Consume need not wait.
func (p *pump) consume(n int) (drained <-chan struct{}, err error) {
	var (
		f               = p.feed
		consuming       jetstream.ConsumeContext
		started         = make(chan struct{})
		full            = make(chan struct{})
		trouble         = make(chan error, 1)
		received, bytes int
	)
	// No request may be smaller than a message.
	limit := max(aheadBytes, int(f.q.nc.MaxPayload())+headerRoom)
	consuming, err = p.consumer.Consume(func(m jetstream.Msg) {
		f.receive(m)
		before := received < n && bytes < aheadBytes
		received, bytes = received+1, bytes+len(m.Data())
		if before && (received == n || bytes >= aheadBytes) {
			// Drain, where StopAfter alone would stop: what a server sends too many after a reconnection is not dropped.
			<-started
			consuming.Drain()
			close(full)
		}
	}, jetstream.PullMaxMessagesWithBytesLimit(n, limit), jetstream.StopAfter(n),
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
	f.mu.Lock()
	p.consuming = consuming
	f.mu.Unlock()
	for {
		select {
		case <-full:
			return drained, nil
		case err := <-trouble:
			if err := p.fatal(err); err != nil {
				consuming.Stop()
				return nil, err
			}
		case <-drained: // it has ended by itself
			select {
			case err := <-trouble:
				return drained, p.fatal(err)
			default:
				return drained, nil
			}
		case <-p.enough:
			consuming.Drain()
			return drained, nil
		case <-f.stopping:
			consuming.Drain()
			return drained, nil
		}
	}
}

// fatal returns the error if there is no use in asking on: what is consumed from does not exist any more. From
// everything else a Consume recovers by itself.
func (p *pump) fatal(err error) error {
	f := p.feed
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
	_, err = p.consumer.Info(ctx)
	if errors.Is(err, jetstream.ErrConsumerNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		return err
	}
	return nil
}

// receive takes in what the server has sent.
func (f *feed) receive(m jetstream.Msg) {
	q := f.q
	now := time.Now()
	q.pulse.tick(now, q.config.Lease)
	meta, err := m.Metadata()
	id, s, ok := q.config.parseSubject(m.Subject())
	if err != nil || !ok { // not a message of the queue's
		q.config.Logger.Warn("a message that is no job", "queue", q.config.Name, "subject", m.Subject(), "error", err)
		return
	}
	d := &delivery{id: id, stage: s, msg: m, seq: meta.Sequence.Stream, last: meta.Sequence.Stream, deliveries: meta.NumDelivered,
		put: meta.Timestamp, feed: f, received: now, until: now.Add(q.config.Lease)}
	d.state = readState(m.Headers())
	if d.state.row.Attempts > 0 {
		d.state.row.Fires = q.policyOf(d.state.kind).Fires()
	}
	if !q.leases.add(d) {
		return
	}
	f.mu.Lock()
	stopped := f.stopped
	if !stopped {
		f.push(d)
	}
	f.mu.Unlock()
	if stopped {
		q.handBack(f.ctx, d, 0)
	}
}

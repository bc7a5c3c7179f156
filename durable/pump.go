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
	enough   chan struct{} // ends the running Consume, because all workers are busy with slow jobs

	// Guarded by the feed's mutex:
	ready     []*delivery
	bytes     int                      // of the jobs that are ready
	consuming jetstream.ConsumeContext // the last Consume
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

// pause ends the running Consume.
func (p *pump) pause() {
	select {
	case p.enough <- struct{}{}:
	default:
	}
}

// run requests jobs until the end, and returns when the last one has come.
func (p *pump) run() {
	f := p.feed
	var drained []<-chan struct{} // of the previous Consumes
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

// drain ends the running Consume, and returns when all that the server has sent has come.
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

// awaitDrained waits until no more jobs can come from a Consume that drains. It returns false after the timeout, and
// when the connection is lost, because then drained may never be closed.
func (f *feed) awaitDrained(drained <-chan struct{}, timeout <-chan time.Time) bool {
	look := time.NewTicker(50 * time.Millisecond)
	defer look.Stop()
	for f.a.nc.IsConnected() {
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
			case <-p.enough: // meant for the previous Consume
			default:
			}
			return n
		}
		f.room.Wait()
	}
	return 0
}

// consume receives n jobs, or fewer if they have aheadBytes together with the jobs that are ready already, or the end
// comes first. The channel that it returns is closed when no more jobs can come from this Consume. That takes the
// client a moment, in which the next Consume may already run.
func (p *pump) consume(n int) (drained <-chan struct{}, err error) {
	var (
		f               = p.feed
		consuming       jetstream.ConsumeContext
		started         = make(chan struct{})
		full            = make(chan struct{})
		failed          = make(chan error, 1)
		received, bytes int
	)
	f.mu.Lock()
	goal := aheadBytes
	for _, p := range f.pumps {
		goal -= p.bytes
	}
	f.mu.Unlock()
	goal = max(goal, 1)
	// A request must have room for the largest message.
	limit := max(goal, int(f.a.nc.MaxPayload())+headerRoom)
	consuming, err = p.consumer.Consume(func(m jetstream.Msg) {
		f.receive(m)
		before := received < n && bytes < goal
		received, bytes = received+1, bytes+len(m.Data())
		if before && (received == n || bytes >= goal) {
			// Drain, because StopAfter alone drops the surplus that a server may send after a reconnection.
			<-started
			consuming.Drain()
			close(full)
		}
	}, jetstream.PullMaxMessagesWithBytesLimit(n, limit), jetstream.StopAfter(n),
		jetstream.PullExpiry(10*time.Second), jetstream.PullHeartbeat(2500*time.Millisecond),
		jetstream.ConsumeErrHandler(func(_ jetstream.ConsumeContext, err error) {
			select {
			case failed <- err:
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
		case err := <-failed:
			if err := p.fatal(err); err != nil {
				consuming.Stop()
				return nil, err
			}
		case <-drained: // the client has ended it
			select {
			case err := <-failed:
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

// fatal returns an error if further requests are useless, because the connection is closed, the consumer no longer
// exists or the server rejects the request. A Consume recovers from every other error without help.
func (p *pump) fatal(err error) error {
	f := p.feed
	if errors.Is(err, jetstream.ErrConnectionClosed) || errors.Is(err, jetstream.ErrConsumerDeleted) ||
		errors.Is(err, jetstream.ErrBadRequest) {
		return err
	}
	f.a.config.Logger.Debug("jobs could not be fetched", "error", err)
	if !f.a.nc.IsConnected() {
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

// receive handles a message that the server has sent.
func (f *feed) receive(m jetstream.Msg) {
	a := f.a
	now := time.Now()
	a.gaps.tick(now, a.lease())
	meta, err := m.Metadata()
	id, s, ok := a.config.parseSubject(m.Subject())
	if err != nil || !ok {
		a.config.Logger.Warn("a message is not a job", "subject", m.Subject(), "error", err)
		return
	}
	d := &delivery{id: id, stage: s, msg: m, seq: meta.Sequence.Stream, last: meta.Sequence.Stream, deliveries: meta.NumDelivered,
		put: meta.Timestamp, feed: f, received: now, until: now.Add(a.lease())}
	d.state = readState(m.Headers())
	d.cancelled = get(m.Headers(), headerDone) != ""
	if !a.leases.add(d) {
		return
	}
	f.mu.Lock()
	stopped := f.stopped
	if !stopped {
		f.push(d)
	}
	f.mu.Unlock()
	if stopped {
		a.handBack(f.ctx, d, 0)
	}
}

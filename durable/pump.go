package durable

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// pump asks the server for jobs until the end, and returns when the last has come.
func (f *feed) pump() {
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
	f.mu.Lock()
	f.consuming = consuming
	f.mu.Unlock()
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
		d.state.row.Fires = f.q.policy().Fires()
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
		f.q.handBack(d, 0)
	}
}

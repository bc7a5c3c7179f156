package durable

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/retry"
)

// holder holds the deliveries that this process has, and gives them up.
type holder struct {
	*backend
	clock
	leases leases
	gaps   gaps
	acks   acks
	counts counts
}

type counts struct {
	put, duplicates, attempts, done, retried, died, handedBack atomic.Int64
}

func (h *holder) isSuspect(d *delivery, now time.Time) bool {
	// A connection counts a reconnect before it says that it is back, so the count is read last.
	return h.nc.IsReconnecting() || h.nc.IsClosed() || h.gaps.connected(h.nc.Stats().Reconnects, now, h.lease()).isSuspect(d, now, h.lease())
}

// handBack returns the job to the server, which delivers it to another worker after the pause. The attempt is not
// counted.
func (h *holder) handBack(ctx context.Context, d *delivery, pause time.Duration) {
	if !h.leases.remove(d) {
		return
	}
	h.counts.handedBack.Add(1)
	if d.claimed || d.moved {
		if err := h.unclaim(ctx, d); err != nil {
			h.config.Logger.Warn("an attempt that was handed back will count as one that never ended", "id", d.id, "error", err)
		}
	}
	if err := d.msg.NakWithDelay(pause); err != nil {
		h.config.Logger.Warn("a job could not be handed back, it is delivered again when its lease has run out", "id", d.id, "error", err)
	}
}

// step returns the next step of the delivered job, with the message m.
func (h *holder) step(d *delivery, m *nats.Msg) step {
	return step{id: d.id, last: d.last, m: m, unbuffered: true, holds: func(ctx context.Context) error { return h.holds(ctx, d) }}
}

// holds returns errMoved if the message that was delivered is no longer stored. It asks the server only if the delivery
// is suspect: a server that comes back with an older disk gives the sequences since then to other messages.
func (h *holder) holds(ctx context.Context, d *delivery) error {
	if !h.isSuspect(d, time.Now()) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, laterWait)
	defer cancel()
	m, err := h.jobs.GetMsg(ctx, d.seq)
	if errors.Is(err, jetstream.ErrMsgNotFound) || err == nil && (m.Subject != d.msg.Subject() || !m.Time.Equal(d.put)) {
		return errMoved
	}
	return err
}

// abandon removes a delivery and sends nothing to the server. The job is gone, or another worker has it, and the server
// would take an acknowledgement of this delivery for that of another job, or for that worker's.
func (h *holder) abandon(d *delivery) { h.leases.remove(d) }

// drop acknowledges the delivery of a job that has moved on. If the acknowledgement is lost, the server delivers the
// job once more, and check skips it. done says that the job is done: then its old dead letter goes first.
func (h *holder) drop(ctx context.Context, d *delivery, done bool) {
	if done && d.state.revived {
		if err := h.bury(ctx, d); err != nil {
			h.config.Logger.Warn("the dead letter of a revived job could not be removed, the job is handed back for that", "id", d.id, "error", err)
			d.claimed = false
			h.handBack(ctx, d, h.pause(ctx, time.Time{}))
			return
		}
	}
	err := h.holds(ctx, d)
	if !h.leases.remove(d) {
		return
	}
	if err == nil {
		err = h.acks.send(ctx, d.msg)
	}
	if err != nil && err != errMoved {
		h.config.Logger.Warn("a delivery could not be acknowledged", "id", d.id, "error", err)
	}
}

// pause returns how long to delay the redelivery of a job whose outcome could not be stored. It is 0 when this worker
// ends, because another one gets the job. Otherwise it is at least a lease, because the next outcome may not be stored
// either.
func (h *holder) pause(ctx context.Context, due time.Time) time.Duration {
	if ctx.Err() != nil {
		return 0
	}
	return max(h.lease(), h.until(due))
}

// unclaim takes a claim back, because its worker has not died, and stores the job's position.
func (h *holder) unclaim(ctx context.Context, d *delivery) error {
	begun := d.begun
	if d.claimed {
		begun--
	}
	seq, err := h.store(ctx, h.step(d, h.config.mark(d, begun)), storePolicy.With(retry.Limit(1)))
	if err == nil {
		d.last, d.begun, d.claimed, d.moved = seq, begun, false, false
	}
	return err
}

// bury discards the old dead letter of a job that was revived and is done, if the letter still exists. Otherwise the
// letter would be the job's last message again when the mark "done" has expired.
func (h *holder) bury(ctx context.Context, d *delivery) error {
	letter, err := h.last(ctx, h.config.subject(d.id, dead))
	if err != nil || letter == nil || get(letter.Header, headerDone) != "" {
		return err
	}
	if err = h.discard(ctx, d.id, letter); err == errMoved {
		return nil
	}
	return err
}

// acks sends acknowledgements. It waits for the server's response only once in every ackWindow, so that few attempts
// are repeated if the process or the server is killed.
type acks struct {
	sent atomic.Int64
}

const ackWindow = 64

func (a *acks) send(ctx context.Context, m jetstream.Msg) error {
	if a.sent.Add(1)%ackWindow != 0 {
		return m.Ack()
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	err := m.DoubleAck(ctx)
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.Canceled) {
		return nil // it was sent
	}
	return err
}

// claimTTL is the time to live of a mark of an attempt that has begun. Attempts may take longer: see advance.
const claimTTL = 24 * time.Hour

// mark returns a mark with the job's state, but without its data and the headers of PutHeader.
func (c *Config) mark(d *delivery, begun uint64) *nats.Msg {
	s := d.state
	s.user = nil
	m := &nats.Msg{Subject: c.subject(d.id, mark), Header: s.header()}
	m.Header[headerBegun] = []string{strconv.FormatUint(begun, 10)}
	m.Header[headerDelivery] = []string{strconv.FormatUint(d.deliveries, 10)}
	ttl := claimTTL
	if len(d.state.position) > 0 {
		ttl = positionTTL
	}
	expires(m, max(ttl, c.Remember))
	return m
}

// look withdraws a delivery if its job was cancelled or is gone.
func (h *holder) look(ctx context.Context, d *delivery) error {
	m, err := h.lastOf(ctx, d.id)
	if err == nil && m != nil && h.config.stateOf(m) != StateDone {
		if err = h.holds(ctx, d); err != errMoved {
			return err
		}
		err = nil
	}
	if err == nil {
		h.leases.withdraw(d)
	}
	return err
}

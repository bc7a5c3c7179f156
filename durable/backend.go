package durable

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// backend is the queue on the server: its stream and the consumers that deliver its jobs.
type backend struct {
	config Config
	nc     *nats.Conn
	js     jetstream.JetStream
	jobs   jetstream.Stream
	again  jetstream.Consumer
	first  jetstream.Consumer
	ctx    context.Context // ends when the queue is closed
	cancel context.CancelCauseFunc

	mayNotDelete atomic.Bool // the user lacks the permission to delete messages
}

// consumer returns the consumer of the jobs of the stage.
func (b *backend) consumer(s stage) jetstream.Consumer {
	if s == again {
		return b.again
	}
	return b.first
}

// sweep removes the messages that were acknowledged and still exist. A server whose disk is full cannot remove them,
// and does not do so later when there is room again.
func (b *backend) sweep(ctx context.Context, s stage) error {
	info := b.consumer(s).CachedInfo()
	for from := uint64(1); ; {
		m, err := b.next(ctx, b.config.subjects("*", string(s)), from)
		if err != nil || m == nil || m.Sequence > info.AckFloor.Stream {
			return err
		}
		if err := b.remove(ctx, m.Sequence); err != nil {
			return err
		}
		from = m.Sequence + 1
	}
}

// remove deletes a message.
func (b *backend) remove(ctx context.Context, seq uint64) error {
	err := b.ask(ctx, "STREAM.MSG.DELETE."+b.config.streamName(), func(ctx context.Context) error { return b.jobs.DeleteMsg(ctx, seq) })
	if errors.Is(err, jetstream.ErrMsgDeleteUnsuccessful) {
		return nil // it is gone
	}
	return err
}

// tryRemove deletes a message if the user may delete, and reports whether he may.
func (b *backend) tryRemove(ctx context.Context, seq uint64) (may bool, err error) {
	if b.mayNotDelete.Load() {
		return false, nil
	}
	if err = b.remove(ctx, seq); !errors.Is(err, nats.ErrPermissionViolation) {
		return true, err
	}
	if b.mayNotDelete.CompareAndSwap(false, true) {
		b.config.Logger.Warn("messages cannot be deleted, the user lacks the permission: Stats counts the dead letters of revived jobs "+
			"until the jobs have ended, and cancelled jobs come back if the server is killed", "error", err)
	}
	return false, nil
}

// discard deletes the message m of a job that has ended. If the user may not delete, m is replaced by a mark "done", which
// expires or which a worker acknowledges. But if the server is killed after that, m comes back, because the server writes
// nothing about messages that were replaced. discard returns errMoved if another message was there then.
func (b *backend) discard(ctx context.Context, id string, m *jetstream.RawStreamMsg) error {
	if may, err := b.tryRemove(ctx, m.Sequence); may {
		return err
	}
	instead := b.config.doneMark(id, parseTime(get(m.Header, headerPut)))
	instead.Subject = m.Subject
	if _, s, _ := b.config.parseSubject(m.Subject); s == later || s == dead { // no worker acknowledges it
		expires(instead, time.Second)
	}
	_, err := b.store(ctx, step{id: id, of: m.Subject, last: m.Sequence, m: instead}, storePolicy)
	return err
}

// ask makes a request that many users may not make. The server reports that outside of the response, which then never
// comes. ask looks for such a report after a moment, then less and less often, and returns it.
func (b *backend) ask(ctx context.Context, subject string, request func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, laterWait)
	defer cancel()
	before, done := b.nc.LastError(), make(chan error, 1)
	go func() { done <- request(ctx) }()
	for wait := askWait; ; wait *= 2 {
		select {
		case err := <-done:
			return err
		case <-time.After(wait):
		}
		// The server reads a connection's requests in order, so the report on what was sent has come when it has
		// responded to a flush.
		if !b.nc.IsConnected() || b.nc.FlushWithContext(ctx) != nil {
			continue
		}
		if denied := b.denied(before); denied != nil && strings.Contains(denied.Error(), subject) {
			cancel()
			<-done
			return denied
		}
	}
}

// askWait is how long a response may take before ask looks for a report for the first time.
const askWait = 20 * time.Millisecond

// flushTime is how long flush waits.
const flushTime = 3 * time.Second

// flush waits until the server has received what was sent.
func (b *backend) flush() error {
	if !b.nc.IsConnected() {
		return nats.ErrDisconnected
	}
	return b.nc.FlushTimeout(flushTime)
}

func (b *backend) isClosed() bool { return errors.Is(context.Cause(b.ctx), ErrClosed) }

// denied returns the permission violation that the server has reported since LastError was before, or nil. The server
// reports it outside of the response, which then never comes.
func (b *backend) denied(before error) error {
	if err := b.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) && err != before {
		return err
	}
	return nil
}

// lastOf returns the job's last message, nil if it has none.
func (b *backend) lastOf(ctx context.Context, id string) (*jetstream.RawStreamMsg, error) {
	return b.last(ctx, b.config.all(id))
}

// last returns the last message of the subject, nil if it has none.
func (b *backend) last(ctx context.Context, subject string) (*jetstream.RawStreamMsg, error) {
	ctx, cancel := context.WithTimeout(ctx, laterWait)
	defer cancel()
	m, err := b.jobs.GetLastMsgForSubject(ctx, subject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// next returns the first message of the subject from the sequence on, nil if there is none.
func (b *backend) next(ctx context.Context, subject string, from uint64) (*jetstream.RawStreamMsg, error) {
	m, err := b.jobs.GetMsg(ctx, from, jetstream.WithGetMsgSubject(subject))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, nil
	}
	return m, err
}

// serverVersion returns the version of the server. While there is no connection, it waits for one.
func serverVersion(ctx context.Context, nc *nats.Conn) (string, error) {
	for {
		if version := nc.ConnectedServerVersion(); version != "" {
			return version, nil
		}
		if err := nc.LastError(); isAuthorization(err) {
			return "", err
		}
		if nc.IsClosed() {
			return "", nats.ErrConnectionClosed
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(nats.ErrDisconnected, context.Cause(ctx))
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// oldest is the oldest version of the server with which a queue works. Before 2.12 it lacks message schedules or TTLs.
// Up to 2.12.5, a server that was killed keeps deliveries pending whose messages are gone: Stats counts them as running
// for as long as the consumer exists (TestFactAPendingDeliveryEndsWithItsMessage). Before 2.15.0 a server fires schedules
// while it still starts. TestAttack_TheLedgerBalances, run at night on a busy machine, then loses some waiting jobs (with
// 2.12.7, in 3 of 13 runs), or no waiting job becomes due until the next start (2.12.7 and 2.12.12, in 2 of 23).
var oldest = [3]int{2, 15, 0}

// isOld reports whether a server of that version is older than oldest. An unknown version is not.
func isOld(version string) bool {
	var v [3]int
	n, _ := fmt.Sscanf(version, "%d.%d.%d", &v[0], &v[1], &v[2])
	return n > 1 && slices.Compare(v[:], oldest[:]) < 0
}

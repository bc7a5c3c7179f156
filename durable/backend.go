package durable

import (
	"context"
	"errors"
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
	number string // of the stream, with a dash: a part of its consumers' names, "" if it has none, see numberKey
	again  jetstream.Consumer
	first  jetstream.Consumer
	ctx    context.Context // ends when the queue is closed
	cancel context.CancelCauseFunc

	mayNotDelete atomic.Bool // the user lacks the permission to delete messages
}

// firstWait is how long the first publication waits for a response. It is short, because a publication that was under
// way when its server died gets none. laterWait is how long the others wait, because the server may only be slow.
const firstWait, laterWait = 2 * time.Second, 5 * time.Second

// consumer returns the consumer of the jobs of the stage.
func (b *backend) consumer(s stage) jetstream.Consumer {
	if s == again {
		return b.again
	}
	return b.first
}

// ask makes a request that many users may not make. The server reports that outside of the response, which then never
// comes. ask looks for such a report after a moment, then less and less often, and returns it. If ctx has no deadline, ask
// waits for laterWait.
func (b *backend) ask(ctx context.Context, subject string, request func(context.Context) error) error {
	within := laterWait
	if deadline, is := ctx.Deadline(); is {
		within = time.Until(deadline)
	}
	ctx, cancel := context.WithTimeout(ctx, within)
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

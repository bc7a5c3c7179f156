package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"github.com/retrywhen/retrywhen/retry"
)

// request is a call of Put, Revive or Cancel. While the server does not respond, it tries again.
type request struct {
	*backend
	what   string // what is being done
	repeat string // what to do when its result is not known
	began  time.Time
	before error // the connection's LastError at the beginning
}

func (b *backend) request(what, repeat string) request {
	return request{b, what, repeat, time.Now(), b.nc.LastError()}
}

// make makes a step. It returns errMoved if the job has moved on.
func (r request) make(ctx context.Context, s step, policy retry.Policy) error {
	s.within = r.within
	_, err := r.store(ctx, s, policy)
	return err
}

// putTimeout bounds Put if its context has no deadline.
const putTimeout = 15 * time.Second

// within returns a context that ends with the queue and, if ctx has no deadline, at putTimeout after the beginning.
func (r request) within(ctx context.Context) (context.Context, context.CancelFunc) {
	release := func() {}
	if _, ok := ctx.Deadline(); !ok {
		ctx, release = context.WithDeadline(ctx, r.began.Add(putTimeout))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.ctx, func() { cancel(ErrClosed) })
	return ctx, func() { stop(); cancel(nil); release() }
}

// notStored returns the error of the call. err is the error of the last try.
func (r request) notStored(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", cause, err)
	}
	help, kind := meaning(err)
	switch {
	case kind == ErrClosed || errors.Is(err, ErrClosed): // closed while Put waited for a response
		return &failure{r.what, ErrNotStored, fmt.Errorf("%w: %w", ErrClosed, err), r.repeat}
	case errors.Is(err, errUnconfirmed):
		return &failure{r.what, ErrNotStored, err, r.repeat}
	case kind != nil && kind != ErrUnreachable:
		return &failure{r.what, kind, err, help}
	}
	if denied := r.denied(r.before); denied != nil {
		return explain(r.what, denied)
	}
	if ctx.Err() == nil && !transient(err) {
		return explain(r.what, err)
	}
	if errors.Is(err, jetstream.ErrNoStreamResponse) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		if _, gone := r.js.Stream(ctx, r.config.streamName()); errors.Is(gone, jetstream.ErrStreamNotFound) {
			return explain(r.what, gone)
		}
	}
	if !r.nc.IsConnected() || time.Since(r.began) < firstWait {
		return &failure{r.what, ErrNotStored, err, r.repeat}
	}
	return &failure{r.what, ErrNotStored, err,
		"the server is reachable but does not store: look at its log, its disk may be full; then " + r.repeat}
}

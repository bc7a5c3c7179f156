package op

import (
	"context"
	"sync/atomic"
)

// interruption lets one goroutine end a stream that runs on another, under the interruption's context. Values and errors
// that come after the interruption must be ignored.
type interruption struct {
	ctx    context.Context
	cancel context.CancelFunc
	called atomic.Bool
}

func interruptible(ctx context.Context) *interruption {
	i := new(interruption)
	i.ctx, i.cancel = context.WithCancel(ctx)
	return i
}

func (i *interruption) interrupt() {
	i.called.Store(true)
	i.cancel()
}

func (i *interruption) interrupted() bool { return i.called.Load() }

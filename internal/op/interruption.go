package op

import (
	"context"
	"sync/atomic"
)

// interruption lets one goroutine end a stream that runs on another, under the interruption's context. What the stream
// yields and returns after that is not to be used.
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

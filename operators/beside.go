package operators

import (
	"context"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/relay"
	"github.com/retrywhen/retrywhen/stream"
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

// companion is a stream that runs on a goroutine of its own beside another one, which stays on the caller's so that
// its values need not be handed over.
type companion[S any] struct {
	source stream.Stream[S]
	take   func(S) bool // called on the companion's goroutine; false ends both streams well
	leads  bool         // the companion's end is the end of both
}

// beside runs s with its companion and returns how both ended: a failure of either cancels the other.
func beside[T, S any](ctx context.Context, s stream.Stream[T], c companion[S], yield func(T) bool) error {
	if err := ending.Of(ctx); err != nil {
		return err
	}
	return relay.Run(ctx, func(scope *relay.Scope) error {
		run := interruptible(ctx)
		defer run.cancel()
		var verdict error // written before the interruption
		relay.NewInlet[S](scope).Start(func(ctx context.Context, _ func(S) bool) error {
			returned, stopped := false, false
			defer func() {
				if !returned {
					run.interrupt() // for the panic, which Run raises
				}
			}()
			err := c.source(ctx, func(v S) bool {
				if !stopped && !c.take(v) {
					stopped = true
					run.interrupt()
				}
				return !stopped
			})
			returned = true
			if !stopped && ctx.Err() == nil && (err != nil || c.leads) {
				verdict = err
				run.interrupt()
			}
			return nil
		})
		stopped := false
		err := s(run.ctx, func(v T) bool {
			if stopped || run.interrupted() {
				return false
			}
			stopped = !yield(v)
			return !stopped
		})
		switch {
		case stopped:
			return nil
		case run.interrupted():
			return ending.Under(ctx, verdict)
		}
		return err
	})
}

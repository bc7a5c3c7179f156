package op

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/retrywhen/retrywhen/internal/ending"
	"github.com/retrywhen/retrywhen/internal/handoff"
)

// notifier is a stream that runs on a goroutine of its own while another one runs on the caller's. So the values of the
// other stream are not handed over.
type notifier[S any] struct {
	source   Stream[S]
	receive  func(S) bool // called on the notifier's goroutine; false ends both streams without an error
	endsBoth bool         // the notifier's end is the end of both
}

// withNotifier runs a notifier and calls stream. stream must run a stream on the caller's goroutine, under the
// interruption's context, and deliver nothing after the interruption. A failure of either cancels the other.
func withNotifier[S any](scope *handoff.Scope, n notifier[S], stream func(*interruption) error) error {
	run := interruptible(scope.Context())
	defer run.cancel()
	var failure error // the notifier's, written before the interruption
	scope.Go(func(ctx context.Context) error {
		returned := false
		defer func() {
			if !returned {
				run.interrupt() // so that the stream ends and raises the panic
			}
		}()
		in := ending.NewConsumer(func(v S) bool {
			if !n.receive(v) {
				run.interrupt()
				return false
			}
			return true
		})
		err := n.source(ctx, in.Deliver)
		returned = true
		if !in.Stopped() && ctx.Err() == nil && (err != nil || n.endsBoth) {
			failure = err
			run.interrupt()
		}
		return err
	})
	err := stream(run)
	if run.interrupted() {
		return failure
	}
	return err
}

// interruption lets one goroutine end a stream that runs on another, under the interruption's context. Values and
// errors that come after the interruption must be ignored.
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

// TakeUntil is operators.TakeUntil.
func TakeUntil[T, U any](p Package, s Stream[T], stop Stream[U]) Stream[T] {
	require(p, "TakeUntil", s, "stop", stop == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		stopping := notifier[U]{source: stop, receive: func(U) bool { return false }}
		return withNotifier(scope, stopping, func(run *interruption) error {
			return s(run.ctx, func(v T) bool { return !run.interrupted() && out.Deliver(v) })
		})
	})
}

// Sample is operators.Sample.
func Sample[T, U any](p Package, s Stream[T], sampler Stream[U]) Stream[T] {
	require(p, "Sample", s, "sampler", sampler == nil)
	return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[T]) error {
		var latest atomic.Pointer[T]
		values := notifier[T]{source: s, receive: func(v T) bool { latest.Store(&v); return true }, endsBoth: true}
		return withNotifier(scope, values, func(run *interruption) error {
			return sampler(run.ctx, func(U) bool {
				if run.interrupted() {
					return false
				}
				v := latest.Swap(nil)
				return v == nil || out.Deliver(*v)
			})
		})
	})
}

// WithLatestFrom is operators.WithLatestFrom.
func WithLatestFrom[A, B, C any](p Package, s Stream[A], other Stream[B], f func(A, B) C) Stream[C] {
	require(p, "WithLatestFrom", s, "other", other == nil)
	p.NotNil("WithLatestFrom", "f", f == nil)
	return func(ctx context.Context, yield func(C) bool) error {
		ctx, release := withJoint(ctx)
		defer release()
		return handoff.Stream(func(scope *handoff.Scope, out *ending.Consumer[C]) error {
			var latest atomic.Pointer[B]
			known := make(chan struct{}) // closed when other has yielded a value or has ended without an error
			know := sync.OnceFunc(func() { close(known); release() })
			notify := func(ctx context.Context, yield func(B) bool) error {
				err := other(ctx, func(b B) bool {
					more := yield(b)
					know()
					return more
				})
				if err == nil {
					know()
				}
				return err
			}
			values := notifier[B]{source: notify, receive: func(b B) bool { latest.Store(&b); return true }}
			return withNotifier(scope, values, func(run *interruption) error {
				return s(run.ctx, func(a A) bool {
					if run.interrupted() {
						return false
					}
					select {
					case <-known:
					case <-run.ctx.Done():
					}
					b := latest.Load() // a is not lost if other fails right after its first value
					return scope.Err() == nil && (b == nil || out.Deliver(f(a, *b)))
				})
			})
		})(ctx, yield)
	}
}

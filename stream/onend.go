package stream

import (
	"context"
	"errors"

	"github.com/retrywhen/retrywhen/internal/ending"
)

// errPanicked is the error that OnEnd passes to f for a run that did not return.
var errPanicked = errors.New("stream: OnEnd: the run was ended by a panic or by runtime.Goexit")

// OnEnd calls f once for each run, when the run has ended and before the stream returns. f receives nil if the source
// has ended or the consumer has stopped, else the error. If a panic ends the run, f receives an error too, and the
// panic continues afterwards. Use OnEnd to release what the run has acquired.
//
//	source:    --a--b--#
//	                   f(err)
//	OnEnd(f):  --a--b--#
func (s Stream[T]) OnEnd(f func(error)) Stream[T] {
	s.require("OnEnd")
	requireFunc(f == nil, "OnEnd: f")
	return func(ctx context.Context, yield func(T) bool) (err error) {
		err = errPanicked
		defer func() { f(err) }()
		out := ending.NewConsumer(yield)
		err = s(ctx, out.Deliver)
		if out.Stopped() {
			err = nil
		}
		return err
	}
}

package stream

import (
	"context"
	"errors"
)

// errPanicked is what OnEnd gets for a run that did not return.
var errPanicked = errors.New("stream: OnEnd: the run was ended by a panic or by runtime.Goexit")

// OnEnd returns the same stream; f is called once for each run, when it has ended and before the stream returns:
// with nil if the source has ended or the consumer has stopped, else with the error. It is called with an error too
// when the run is ended by a panic, which goes on afterwards. It is the place to release what the run has taken.
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
		stopped := false
		err = s(ctx, func(v T) bool {
			stopped = stopped || !yield(v)
			return !stopped
		})
		if stopped {
			err = nil
		}
		return err
	}
}
